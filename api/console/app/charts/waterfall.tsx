import { max, min } from 'd3-array';
import { ShowAsTable } from '../parts/table.js';
import { Chart, cutText } from './chart.js';

interface Driver {
  readonly field: string;
  readonly label: string;
  readonly value: string;
  readonly contribution: number;
}

const [right, step] = [62, 42];

/** Each field's step from an average lead to this one, as a factor of the odds. Strongest first. */
export function Waterfall({ drivers }: { readonly drivers: readonly Driver[] }) {
  let sum = 0;
  const steps = drivers.map((driver) => {
    const from = sum;
    sum += driver.contribution;
    return { ...driver, from, to: sum };
  });
  const lowest = Math.min(0, min(steps, ({ to }) => to) ?? 0);
  const highest = Math.max(0, max(steps, ({ to }) => to) ?? 0);
  const span = Math.max(highest - lowest, 0.1);
  const bottom = step * steps.length + 8;
  return (
    <>
      <Chart height={bottom + 22} label="Steps of the strongest fields from an average lead to this one">
        {(width) => {
          const left = Math.min(190, 0.36 * width);
          const xOf = (value: number) => left + ((width - left - right) * (value - lowest)) / span;
          return (
            <>
              <line class="grid" x1={xOf(0)} x2={xOf(0)} y1="0" y2={bottom} />
              {steps.map(({ field, label, value, contribution, from, to }, row) => {
                const y = 8 + step * row;
                return (
                  <g key={field}>
                    <text class="strong" x="0" y={y + 13}>
                      {cutText(label, left - 6)}
                    </text>
                    <text x="0" y={y + 28}>
                      {cutText(value === '' ? 'empty' : value, left - 6)}
                    </text>
                    <rect
                      class={contribution < 0 ? 'lower' : 'bar'}
                      x={Math.min(xOf(from), xOf(to))}
                      y={y + 4}
                      width={Math.max(Math.abs(xOf(to) - xOf(from)), 1)}
                      height="18"
                      rx="3"
                    />
                    {row < steps.length - 1 && (
                      <line class="link" x1={xOf(to)} x2={xOf(to)} y1={y + 22} y2={y + step + 4} />
                    )}
                    <text class="strong" x={width - 2} y={y + 18} text-anchor="end">
                      {factorText(contribution)}
                    </text>
                  </g>
                );
              })}
              <text x={xOf(0)} y={bottom + 16} text-anchor="middle">
                average lead
              </text>
            </>
          );
        }}
      </Chart>
      <ShowAsTable
        label="Steps of the strongest fields"
        columns={['Field', 'Value', 'Change of the odds', 'Log-odds']}
        rows={drivers.map(({ label, value, contribution }) => [
          label,
          value,
          factorText(contribution),
          contribution.toFixed(4),
        ])}
      />
    </>
  );
}

/** A change of the log-odds as a factor of the odds. */
const factorText = (contribution: number): string =>
  `${contribution < 0 ? '÷' : '×'} ${Math.exp(Math.abs(contribution)).toFixed(2)}`;
