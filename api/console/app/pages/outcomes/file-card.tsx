import { useState } from 'preact/hooks';
import { bytesText } from '../../parts/formats.js';
import { FileDrop } from '../../parts/forms/drop.js';
import { SelectField } from '../../parts/forms/field.js';
import { Card, Problem } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { type Columns, type FileStart, readStart } from './send-file.js';

/** Takes a file, shows its first rows, and lets a person choose its columns. */
export function FileCard(props: {
  readonly start: FileStart | undefined;
  readonly isBusy: boolean;
  readonly opened: (start: FileStart | undefined) => void;
  readonly choose: (columns: Columns) => void;
}) {
  const { start, isBusy } = props;
  const { api } = useOrganisation();
  const [problem, setProblem] = useState<Error>();
  const [isReading, setReading] = useState(false);
  const take = async (file: File) => {
    setReading(true);
    setProblem(undefined);
    props.opened(undefined);
    try {
      props.opened(await readStart(`${api}/outcomes`, file));
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setReading(false);
    }
  };
  return (
    <Card
      title="1. Choose a file"
      about="A CSV with one lead in each row, also compressed with gzip. Name every scored lead, also those that have not converted."
    >
      <FileDrop
        text="Drop a file of outcomes here, or choose it."
        label="File of outcomes"
        isDisabled={isBusy || isReading}
        take={(file) => void take(file)}
      />
      {problem && <Problem problem={problem} />}
      {start && <ColumnsForm key={start.file.name + start.file.lastModified} {...props} start={start} />}
    </Card>
  );
}

const suggestedHint = 'Suggested by the name of the column. Check it.';

function ColumnsForm(props: {
  readonly start: FileStart;
  readonly isBusy: boolean;
  readonly choose: (columns: Columns) => void;
}) {
  const { file, preview } = props.start;
  const { suggested } = preview;
  const [columns, setColumns] = useState<Columns>({
    ...{ crm_id: suggested.crm_id ?? '', converted: suggested.converted ?? '', at: suggested.at ?? '' },
  });
  const [touched, setTouched] = useState<readonly string[]>([]);
  const names = [...new Set(preview.columns)].filter((name) => name !== '').map((name) => [name, name] as const);
  const field = (name: keyof Columns, label: string, none: string) => (
    <SelectField
      label={label}
      value={columns[name]}
      set={(value) => {
        setColumns({ ...columns, [name]: value });
        setTouched([...touched, name]);
      }}
      options={[['', none], ...names]}
      hint={columns[name] !== '' && !touched.includes(name) ? suggestedHint : ''}
    />
  );
  const rows = preview.first_rows.map((cells) => preview.columns.slice(0, cells.length).map((_, at) => cells[at]));
  return (
    <>
      <p>
        <strong>{file.name}</strong>, {bytesText(file.size)}
      </p>
      {rows.length > 0 && <Table label="First rows" columns={preview.columns.slice(0, 100)} rows={rows} />}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          props.choose(columns);
        }}
      >
        {field('crm_id', 'Id of the lead', 'Choose a column')}
        {field('converted', 'Outcome', 'Choose a column')}
        {field('at', 'Date of the conversion (optional)', 'No date')}
        <button
          type="submit"
          class="button main"
          disabled={props.isBusy || columns.crm_id === '' || columns.converted === ''}
        >
          Count the outcomes
        </button>
        {(columns.crm_id === '' || columns.converted === '') && (
          <p class="small soft">Choose the columns of the id and of the outcome first.</p>
        )}
      </form>
    </>
  );
}
