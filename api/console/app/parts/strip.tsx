import type { ComponentChildren } from 'preact';

type Figure = readonly [label: string, figure: string, note: string, spark?: ComponentChildren];

/** A strip of figures, each with a label above it and a note beside it. A small line may show the days. */
export function Strip(props: {
  /** For screen readers. */
  readonly label: string;
  readonly figures: readonly Figure[];
}) {
  return (
    <section class="card strip" aria-label={props.label}>
      {props.figures.map(([label, figure, note, spark]) => (
        <div key={label} class={spark ? 'with-spark' : undefined}>
          <div>
            <p class="small soft">{label}</p>
            <strong>{figure}</strong> <span class="small soft">{note}</span>
          </div>
          {spark}
        </div>
      ))}
    </section>
  );
}
