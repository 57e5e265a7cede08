import { arc } from 'd3-shape';

const edges = [0, 20, 40, 60, 80, 100];
const angleOf = (score: number) => ((score - 50) / 100) * Math.PI * 1.1;

/** A fit score on a dial of the five score bands. */
export function Gauge({ score }: { readonly score: number }) {
  const segment = arc<readonly [number, number]>()
    .innerRadius(84)
    .outerRadius(100)
    .startAngle(([from]) => angleOf(from) + 0.015)
    .endAngle(([, to]) => angleOf(to) - 0.015);
  const angle = angleOf(score);
  return (
    <svg class="chart gauge" viewBox="-130 -122 260 170" role="img" aria-label={`Fit score ${score} of 100`}>
      {edges.slice(1).map((to, band) => (
        <path key={to} d={segment([to - 20, to]) ?? ''} fill={`var(--band-${band})`} />
      ))}
      {edges.map((edge) => (
        <text key={edge} x={114 * Math.sin(angleOf(edge))} y={4 - 114 * Math.cos(angleOf(edge))} text-anchor="middle">
          {edge}
        </text>
      ))}
      <circle
        cx={92 * Math.sin(angle)}
        cy={-92 * Math.cos(angle)}
        r="10"
        fill="var(--card)"
        stroke="var(--ink)"
        stroke-width="4"
      />
      <text class="big" x="0" y="8" text-anchor="middle">
        {score}
      </text>
      <text x="0" y="32" text-anchor="middle">
        fit score
      </text>
    </svg>
  );
}
