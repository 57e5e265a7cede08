/** A strip of figures, each with a label above it and a note beside it. */
export function Strip(props: {
  /** For screen readers. */
  readonly label: string;
  readonly figures: readonly (readonly [label: string, figure: string, note: string])[];
}) {
  return (
    <section class="card strip" aria-label={props.label}>
      {props.figures.map(([label, figure, note]) => (
        <div key={label}>
          <p class="small soft">{label}</p>
          <strong>{figure}</strong> <span class="small soft">{note}</span>
        </div>
      ))}
    </section>
  );
}
