import type { ComponentChildren } from 'preact';
import { Meaning } from './meaning.js';

/** A label in plain words, a figure, and a note beside it. */
type Figure = readonly [label: string, figure: string, note: string, more?: FigureMore];

interface FigureMore {
  /** The name that statisticians use: see `Meaning`. */
  readonly term?: string;
  /** A small line that shows the days. */
  readonly spark?: ComponentChildren;
}

/** A strip of figures, each with its plain meaning above it. */
export function Strip(props: {
  /** For screen readers. */
  readonly label: string;
  readonly figures: readonly Figure[];
}) {
  return (
    <section class="card strip" aria-label={props.label}>
      {props.figures.map(([label, figure, note, { term, spark } = {}]) => (
        <div key={label} class={spark ? 'with-spark' : undefined}>
          <div>
            <p class="small soft">{term ? <Meaning term={term}>{label}</Meaning> : label}</p>
            <strong>{figure}</strong> <span class="small soft">{note}</span>
          </div>
          {spark}
        </div>
      ))}
    </section>
  );
}
