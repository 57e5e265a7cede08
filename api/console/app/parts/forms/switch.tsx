/** A switch between off and on, with its label beside it. */
export function Switch(props: {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly set: (isOn: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={props.isOn}
      disabled={props.isDisabled}
      onClick={() => props.set(!props.isOn)}
    >
      {props.label} <span aria-hidden="true" />
    </button>
  );
}
