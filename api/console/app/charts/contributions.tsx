import { max } from 'd3-array';
import { ShowAsTable } from '../parts/table.js';
import { Chart, cutText, Legend } from './chart.js';

export interface Contribution {
  readonly field: string;
  readonly label: string;
  readonly raises: number;
  readonly lowers: number;
}

const [right, step] = [50, 30];
const fieldsShown = 12;

/** How much a field moves scores in both directions. */
export const strengthOf = ({ raises, lowers }: Contribution): number => raises + Math.abs(lowers);

/** How much each field moves scores up and down on average, strongest first. */
export function Contributions({ of: contributions }: { readonly of: readonly Contribution[] }) {
  const shown = contributions.slice(0, fieldsShown);
  const peak = max(shown, strengthOf) || 1;
  return (
    <>
      <Legend
        of={[
          ['raises', 'bar'],
          ['lowers', 'bad'],
        ]}
      />
      <Chart height={step * shown.length + 6} label="How far each field moves the scores of the sample leads">
        {(width) => {
          const left = Math.min(190, 0.38 * width);
          const lengthOf = (value: number) => ((width - left - right) * Math.abs(value)) / peak;
          return shown.map((each, row) => {
            const y = 6 + step * row;
            const middle = left + lengthOf(each.raises);
            const end = middle + lengthOf(each.lowers);
            return (
              <g key={each.field}>
                <text x={left - 10} y={y + 16} text-anchor="end">
                  {cutText(each.label, left - 10)}
                </text>
                <rect class="bar" x={left} y={y + 4} width={Math.max(middle - left - 1, 0)} height="16" rx="3" />
                <rect class="lower" x={middle} y={y + 4} width={Math.max(end - middle, 0)} height="16" rx="3" />
                <text class="strong" x={end + 8} y={y + 16}>
                  {strengthOf(each).toFixed(3)}
                </text>
              </g>
            );
          });
        }}
      </Chart>
      <ShowAsTable
        label="How far each field moves scores"
        columns={['Field', 'Raises', 'Lowers']}
        rows={contributions.map(({ label, raises, lowers }) => [label, raises.toFixed(3), Math.abs(lowers).toFixed(3)])}
      />
    </>
  );
}
