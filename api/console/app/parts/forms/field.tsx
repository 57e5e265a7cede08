import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly hint?: string | undefined;
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
        aria-describedby={props.hint || props.warning ? hintId : undefined}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
      <Hint id={hintId} {...props} />
    </div>
  );
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
export function Hint({ id, hint, warning }: { readonly id: string } & Pick<FieldProps, 'hint' | 'warning'>) {
  const text = warning ?? hint;
  return text ? (
    <span id={id} class={warning ? 'small warning' : 'small soft'}>
      {text}
    </span>
  ) : null;
}
