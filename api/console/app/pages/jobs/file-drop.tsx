import { useId, useState } from 'preact/hooks';

/** Takes one file by drop or by choice. */
export function FileDrop(props: {
  /** The text above the input. */
  readonly text: string;
  readonly label: string;
  readonly isDisabled?: boolean;
  readonly take: (file: File) => void;
}) {
  const [isOver, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const id = useId();
  const take = (files: readonly File[]) => {
    const [file] = files;
    setProblem(files.length > 1 ? 'A job scores one file. Drop them one after another.' : '');
    if (file !== undefined && files.length === 1) props.take(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the input below does the same by keyboard
    <div
      class="drop"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (props.isDisabled !== true) take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <p>{props.text}</p>
      <div class="field">
        <label for={id}>{props.label}</label>
        <input
          id={id}
          type="file"
          disabled={props.isDisabled}
          onChange={({ currentTarget }) => {
            const files = [...(currentTarget.files ?? [])];
            // The same file chosen again must cause an event.
            currentTarget.value = '';
            take(files);
          }}
        />
      </div>
      {problem && (
        <p class="warning" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
