import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** A figure or a chart in plain words. A sign beside them opens a hint with the name that statisticians use. */
export function Meaning(props: {
  /** The plain words. */
  readonly children: ComponentChildren;
  /** The name, and figures that only statisticians read. */
  readonly term: string;
}) {
  const id = useId();
  return (
    <>
      {props.children}
      {/* A space that does not break: the sign never stands alone on a line. */}
      {'\u00a0'}
      <button type="button" class="term" popovertarget={id} aria-label="Statistical terms">
        ?
      </button>
      <span id={id} popover="auto" class="hint">
        {props.term}
      </span>
    </>
  );
}
