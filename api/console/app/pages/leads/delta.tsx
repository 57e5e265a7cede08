/** How a score has changed. @param none stands for a score without an earlier one */
export function Delta({ of: delta, none }: { readonly of: number | undefined; readonly none: string }) {
  if (delta === undefined) return <span class="soft">{none}</span>;
  const className = delta > 0 ? 'good' : delta < 0 ? 'bad' : '';
  return <span class={`badge ${className}`}>{delta > 0 ? `+${delta}` : delta}</span>;
}
