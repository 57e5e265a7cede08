/** Some buttons of which one is pressed. */
export function Choice<Option extends string>(props: {
  readonly label: string;
  readonly options: readonly Option[];
  /** Undefined before a choice. */
  readonly chosen: Option | undefined;
  readonly choose: (option: Option) => void;
}) {
  return (
    <fieldset class="choice" aria-label={props.label}>
      {props.options.map((option) => (
        <button key={option} type="button" aria-pressed={option === props.chosen} onClick={() => props.choose(option)}>
          {option[0]?.toUpperCase()}
          {option.slice(1)}
        </button>
      ))}
    </fieldset>
  );
}
