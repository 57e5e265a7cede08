import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

/** An area that takes what is dropped on it. The inputs in it do the same by keyboard. */
export function DropArea(props: {
  readonly text: string;
  readonly drop: (data: DataTransfer) => void;
  readonly children: ComponentChildren;
}) {
  const [isOver, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the inputs below do the same by keyboard
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
        if (event.dataTransfer) props.drop(event.dataTransfer);
      }}
    >
      <p>{props.text}</p>
      {props.children}
    </div>
  );
}

/** Takes one file by drop or by choice. */
export function FileDrop(props: {
  /** The text above the input. */
  readonly text: string;
  readonly label: string;
  readonly isDisabled: boolean;
  readonly take: (file: File) => void;
}) {
  const [problem, setProblem] = useState('');
  const id = useId();
  const take = (files: readonly File[]) => {
    const [file] = files;
    setProblem(files.length > 1 ? 'Only one file is taken at a time. Drop them one after another.' : '');
    if (file !== undefined && files.length === 1) props.take(file);
  };
  return (
    <DropArea text={props.text} drop={({ files }) => props.isDisabled || take([...files])}>
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
    </DropArea>
  );
}
