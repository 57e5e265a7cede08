import { useEffect, useId, useState } from 'preact/hooks';
import type { modelSchema } from '../../../../../shared/admin/schemas/models.js';
import { daysAgoText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Choice } from '../../parts/choice.js';
import { Field, Hint, SelectField } from '../../parts/forms/field.js';
import { useSome } from '../../parts/some.js';
import { InputNotes, type InputReport, type RecordValues, warningsOf } from './input-notes.js';

type ModelField = NonNullable<ShapeOf<typeof modelSchema>['fields']>[number];

interface RecordFormProps {
  readonly fields: readonly ModelField[];
  readonly values: RecordValues;
  readonly set: (values: RecordValues) => void;
  readonly submit: () => void;
  /** The text is not a record, so nothing can be scored. */
  readonly refuse: () => void;
  /** How the record was read when it was scored; undefined once it has changed. */
  readonly report: InputReport | undefined;
  readonly isBusy: boolean;
  /** Fills the form with a record of the model's author. */
  readonly draw: () => void;
}

const ways = ['form', 'JSON'] as const;
const noWarnings: ReadonlyMap<string, string> = new Map();

/** A record as a form made from the fields of a model, or as JSON. */
export function RecordForm(props: RecordFormProps) {
  const [way, setWay] = useState<(typeof ways)[number]>('form');
  const [problem, setProblem] = useState('');
  const { fields, values, set, draw, report } = props;
  const warnings = report ? warningsOf(report) : noWarnings;
  const { shown, more } = useSome(fields, { words: 'fields' });
  const unshown = new Map([...warnings].filter(([name]) => !shown.some(({ field }) => field === name)));
  const choose = (next: (typeof ways)[number]) => {
    setWay(next);
    // A text that is not JSON is left, and the form goes on with the last record that was read.
    setProblem('');
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (problem === '') props.submit();
  };
  const noteProblem = (next: string) => {
    setProblem(next);
    if (next !== '') props.refuse();
  };
  return (
    <form onSubmit={submit} class="stack">
      <Choice label="Way to enter the record" options={ways} chosen={way} choose={choose} />
      {way === 'JSON' && <JsonField values={values} set={set} problem={problem} setProblem={noteProblem} />}
      {way === 'form' && (
        <div class="form">
          {shown.map((field) => (
            <ValueField key={field.field} field={field} values={values} set={set} warning={warnings.get(field.field)} />
          ))}
        </div>
      )}
      {way === 'form' && more}
      {report && (
        <InputNotes report={report} warnings={way === 'form' ? unshown : warnings} values={values} set={set} />
      )}
      <div class="row">
        <button type="submit" class="button main" disabled={props.isBusy}>
          Score this record
        </button>
        <button type="button" class="button" onClick={draw}>
          Random lead
        </button>
        <button type="button" class="button" onClick={() => set({})}>
          Clear
        </button>
      </div>
    </form>
  );
}

const isoDay = /^\d{4}-\d{2}-\d{2}$/;
/** A day, or a time with its zone. A time without one would be that of the browser. */
const isoDate = /^\d{4}-\d{2}-\d{2}(T.*(Z|[+-]\d{2}:\d{2}))?$/;

function ValueField({
  field,
  values,
  set,
  warning,
}: Pick<RecordFormProps, 'values' | 'set'> & { readonly field: ModelField; readonly warning: string | undefined }) {
  const hintId = useId();
  const { field: name, label, type, categories = [] } = field;
  const value = values[name];
  const put = (next: RecordValues[string] | undefined) => {
    const { [name]: _, ...rest } = values;
    set(next === undefined || next === '' ? rest : { ...rest, [name]: next });
  };
  // A record of another source has values that no option has: they are shown as text.
  if (type === 'boolean' && (value === undefined || typeof value === 'boolean')) {
    const text = value === undefined ? '' : String(value);
    const options = [['', ''] as const, ['true', 'yes'] as const, ['false', 'no'] as const];
    return (
      <SelectField
        label={label}
        value={text}
        set={(next) => put(next === '' ? undefined : next === 'true')}
        options={options}
        warning={warning}
      />
    );
  }
  if (type === 'category' && categories.length > 0 && (value === undefined || categories.includes(String(value)))) {
    const options = ['', ...categories].map((each) => [each, each] as const);
    return <SelectField label={label} value={String(value ?? '')} set={put} options={options} warning={warning} />;
  }
  if (type === 'multi' && (value === undefined || Array.isArray(value))) {
    const chosen = Array.isArray(value) ? value : [];
    const toggle = (category: string, isOn: boolean) => {
      const next = isOn ? [...chosen, category] : chosen.filter((each) => each !== category);
      put(next.length === 0 ? undefined : next);
    };
    return (
      <fieldset class="field options" aria-describedby={warning ? hintId : undefined}>
        <legend>{label}</legend>
        {categories.map((category) => (
          <label key={category}>
            <input
              type="checkbox"
              class="visually-hidden"
              checked={chosen.includes(category)}
              onChange={(event) => toggle(category, event.currentTarget.checked)}
            />
            {category}
          </label>
        ))}
        <Hint id={hintId} warning={warning} />
      </fieldset>
    );
  }
  return (
    <Field
      label={label}
      type={type === 'date' && (value === undefined || isoDay.test(String(value))) ? 'date' : 'text'}
      value={String(value ?? '')}
      set={put}
      hint={type === 'date' ? dateHint(String(value ?? '')) : undefined}
      warning={warning}
      maxLength={1_000}
    />
  );
}

function JsonField(
  props: Pick<RecordFormProps, 'values' | 'set'> & {
    readonly problem: string;
    readonly setProblem: (problem: string) => void;
  },
) {
  const [text, setText] = useState(() => JSON.stringify(props.values, null, 2));
  useEffect(() => {
    // The record was cleared or drawn, not typed here.
    if (JSON.stringify(props.values) === compact(text)) return;
    setText(JSON.stringify(props.values, null, 2));
    props.setProblem('');
  }, [props.values]);
  const read = (next: string) => {
    setText(next);
    try {
      const parsed: unknown = JSON.parse(next);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
        return props.setProblem('The record must be an object, such as {"Industry": "Logistics"}.');
      props.setProblem('');
      // A space is no change of the record.
      if (JSON.stringify(parsed) !== JSON.stringify(props.values)) props.set(parsed as RecordValues);
    } catch {
      props.setProblem('The text is not valid JSON. Check quotes and commas.');
    }
  };
  return (
    <div class="field">
      <label for="record-json">Record as JSON</label>
      <textarea
        id="record-json"
        rows={14}
        value={text}
        aria-invalid={props.problem !== ''}
        aria-describedby="record-json-problem"
        onInput={(event) => read(event.currentTarget.value)}
      />
      <span id="record-json-problem" role="status" class="small">
        {props.problem}
      </span>
    </div>
  );
}

/** The same JSON without white space; undefined for text that is not JSON. */
function compact(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Says of a field that it takes a date, and how long ago the entered one was. */
function dateHint(value: string): string {
  const atMs = isoDate.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? 'A date' : `A date, ${daysAgoText(atMs, Date.now())}`;
}
