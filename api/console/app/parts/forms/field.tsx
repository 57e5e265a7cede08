import { useId } from 'preact/hooks';
import { daysAgoText } from '../../../../../shared/contract/figures.js';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly hint?: string;
  /** Why the value did not count. */
  readonly warning?: string | undefined;
}

/** A labelled input of one line. */
export function Field(
  props: FieldProps & {
    readonly type?: 'text' | 'number' | 'search' | 'date' | 'email';
    readonly isRequired?: boolean;
    readonly maxLength?: number;
    readonly min?: number;
    readonly max?: number;
    readonly placeholder?: string;
    readonly autocomplete?: string;
    /** Some browsers send what is typed to a spelling service. */
    readonly isSecret?: boolean;
  },
) {
  const [id, hintId] = [useId(), useId()];
  const hint = props.hint ?? dateHint(props.type, props.value);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        {...({ type: props.type ?? 'text' } as { type: 'text' })}
        value={props.value}
        required={props.isRequired}
        maxLength={props.maxLength ?? 200}
        min={props.min}
        max={props.max}
        placeholder={props.placeholder}
        autocomplete={props.autocomplete ?? 'off'}
        spellcheck={props.isSecret ? false : undefined}
        aria-describedby={hint || props.warning ? hintId : undefined}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
      <Hint id={hintId} warning={props.warning} hint={hint} />
    </div>
  );
}

/** An instant as records of a CRM have it, also in a field of text. */
const instant = /^\d{4}-\d{2}-\d{2}T.*Z$/;

/** Says of a field that it takes a date, and how long ago the entered one was. Undefined for other fields. */
function dateHint(type: string | undefined, value: string): string | undefined {
  const atMs = type === 'date' || instant.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(atMs)) return `A date, ${daysAgoText(atMs, Date.now())}`;
  return type === 'date' ? 'A date' : undefined;
}

/** A labelled choice from a list. */
export function SelectField(
  props: FieldProps & {
    readonly options: readonly (readonly [value: string, text: string])[];
    /** Shows the label to screen readers alone. */
    readonly isCompact?: boolean;
  },
) {
  const [id, hintId] = [useId(), useId()];
  return (
    <div class="field">
      <label for={id} class={props.isCompact ? 'visually-hidden' : undefined}>
        {props.label}
      </label>
      <select
        id={id}
        value={props.value}
        aria-describedby={props.hint || props.warning ? hintId : undefined}
        onChange={(event) => props.set(event.currentTarget.value)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value} selected={value === props.value}>
            {text}
          </option>
        ))}
      </select>
      <Hint id={hintId} {...props} />
    </div>
  );
}

/** The line below a field. */
export function Hint({
  id,
  hint,
  warning,
}: {
  readonly id: string;
  readonly hint?: string | undefined;
} & Pick<FieldProps, 'warning'>) {
  const text = warning ?? hint;
  return text ? (
    <span id={id} class={warning ? 'small warning' : 'small soft'}>
      {text}
    </span>
  ) : null;
}
