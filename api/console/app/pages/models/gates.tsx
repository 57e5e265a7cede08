import { sum } from 'd3-array';
import type { ComponentChildren } from 'preact';
import type { modelReportSchema } from '../../../../../shared/admin/schemas/models.js';
import { figureText, liftText, shareText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText } from '../../parts/formats.js';
import { Meaning } from '../../parts/meaning.js';
import { gateTitles } from '../../parts/verdict.js';

export type Report = ShapeOf<typeof modelReportSchema>;
export type Gate = Report['gates'][number];
type Figures = Gate['figures'];

interface GateText {
  readonly about: string;
  /** The figure that was measured, and the one that is needed. */
  readonly figures: (figures: Figures) => readonly [string, string];
  /** The names and figures of statisticians. */
  readonly term?: (figures: Figures) => string;
}

const count = (value: number | undefined): string => countText(Math.round(value ?? 0));

const gateTexts: Readonly<Record<Gate['gate'], GateText>> = {
  predictions_recorded: {
    about: 'First scores of different leads, with a live key.',
    figures: (each) => [count(each.cohort), `${count(each.required)} needed`],
  },
  cohort_reconciles: {
    about: 'Each counted record is stored, and outcome data names the leads.',
    figures: (each) => [
      shareText(each.joined_share ?? 0),
      `named by outcomes, ${shareText(each.required_share ?? 0)} needed`,
    ],
  },
  matured_cohort: {
    about: 'Leads scored longer ago than the window, with a known outcome.',
    figures: (each) => [count(each.matured_and_joined), `${count(each.required)} needed`],
  },
  outcomes_observed: {
    about: 'Enough leads converted to compare the score bands.',
    figures: (each) => [count(each.conversions), `${count(each.required_conversions)} needed`],
  },
  rate_rises_with_band: {
    about: 'From band to band, more leads convert. Chance alone would hardly bring such a rise.',
    figures: ({ p = 1, required_p: required = 0.05 }) => [
      chanceText(p, required),
      `by chance, less than ${chanceText(required)} needed`,
    ],
    term: ({ p = 1, required_p: required = 0.05, worst_drop_p: drop = 1, drop_threshold: limit = 0 }) =>
      `Cochran-Armitage test for trend over the score bands, one-sided: p = ${figureText(p, required)}, below ` +
      `${figureText(required)} needed. The steepest fall between two bands has p = ${figureText(drop, limit)}.`,
  },
  top_band_lift: {
    about: 'Leads of the highest band convert more often than all leads.',
    figures: ({ lift = 0, required_lift: required = 0, lower_bound: bound = 0 }) => [
      liftText(lift),
      `as often, ${liftText(required)} needed; at least ${liftText(bound)}`,
    ],
    term: ({ lower_bound: bound = 0 }) =>
      `Lift of the top band. Its lower bound, one-sided at 95 %, is ${liftText(bound)} and must be above 1x.`,
  },
};

/** How likely chance alone is, as a share that people can picture. It is on the same side of the required value. */
function chanceText(p: number, required = p): string {
  if (p >= 0.5) return 'likely';
  if (p < 0.0001) return 'under 1 in 10,000';
  const round = p < required ? Math.ceil : p > required ? Math.floor : Math.round;
  return `1 in ${countText(round(1 / p))}`;
}

const states: Readonly<Record<Gate['state'], readonly [className: string, words: string]>> = {
  cleared: ['good', 'cleared'],
  too_early: ['warn', 'too early'],
  failed: ['bad', 'failed'],
  not_reached: ['', 'comes later'],
};

/** The lift of the top band and its lower bound; empty until this gate is reached. */
export const liftFigures = ({ gates }: Pick<Report, 'gates'>): Figures =>
  gates.find(({ gate, state }) => gate === 'top_band_lift' && state !== 'not_reached')?.figures ?? {};

/** The graded leads of all bands, and their conversions. */
export const totalsOf = ({ bands }: NonNullable<Report['grade']>) => ({
  records: sum(bands, (band) => band.records),
  conversions: sum(bands, (band) => band.conversions),
});

/** The first gate that has not cleared, and its number from 1; undefined after all have. */
export function openGate(gates: readonly Gate[]): { readonly gate: Gate; readonly step: number } | undefined {
  const index = gates.findIndex(({ state }) => state !== 'cleared');
  const gate = gates[index];
  return gate && { gate, step: index + 1 };
}

/** The measured figure of a gate, and the needed one. A gate that was not reached has none. */
const figuresOf = ({ gate, state, figures }: Gate): readonly [string, string] =>
  state === 'not_reached' || Object.keys(figures).length === 0 ? ['', ''] : gateTexts[gate].figures(figures);

/** The state of a gate and its figures in a few words. */
export function GateState({ of: gate }: { readonly of: Gate }) {
  const [className, words] = states[gate.state];
  const [measured, needed] = figuresOf(gate);
  return (
    <>
      <span class={`badge ${className}`}>{words}</span>
      {measured && (
        <p class="small">
          {measured} <span class="soft">{needed}</span>
        </p>
      )}
    </>
  );
}

/** The six gates of a validation. Figures end with the first open one. @param advice what to do about that */
export function Gates(props: { readonly gates: readonly Gate[]; readonly advice: ComponentChildren }) {
  const open = openGate(props.gates)?.gate;
  return (
    <ol class="rows">
      {props.gates.map((gate) => {
        const [className, words] =
          gate === open && gate.state === 'not_reached' ? ['warn', 'open'] : states[gate.state];
        const [measured, needed] = figuresOf(gate);
        const { about, term: termOf } = gateTexts[gate.gate];
        const term = measured && termOf?.(gate.figures);
        return (
          <li key={gate.gate} aria-current={gate === open ? 'step' : undefined}>
            <div>
              <strong>{gateTitles[gate.gate]}</strong> <span class={`badge ${className}`}>{words}</span>
              <p class="small soft">{term ? <Meaning term={term}>{about}</Meaning> : about}</p>
              {gate === open && props.advice}
            </div>
            {measured && (
              <p class="number">
                <strong>{measured}</strong> <span class="small soft">{needed}</span>
              </p>
            )}
          </li>
        );
      })}
    </ol>
  );
}
