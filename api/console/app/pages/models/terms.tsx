import { Meaning } from '../../parts/meaning.js';

/** The name of the thin lines at the rates of score bands. */
export const wilsonTerm = 'The lines are 95 % Wilson intervals of the conversion rates.';

/** Whether the scores of the last weeks are like those before. @param of the stability index */
export function Stability({ of: index }: { readonly of: number }) {
  const [className, words] =
    index < 0.1 ? ['good', 'steady'] : index < 0.25 ? ['warn', 'moving'] : ['bad', 'moving strongly'];
  const term =
    `Population stability index (PSI) of the scores of the last 28 days against those before: ${index.toFixed(2)}. ` +
    'Below 0.1 they are steady, from 0.25 on the leads have changed.';
  return (
    <Meaning term={term}>
      <span class={`badge ${className}`}>{words}</span>
    </Meaning>
  );
}
