import { firstGradeWithinMinutes, horizonDaysOf, requiredPredictions } from '../../../../../shared/contract/verdict.js';
import { countText, dayText, instantText } from '../../parts/formats.js';
import { gateTitles, summaryText, VerdictBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { type Gate, openGate, type Report } from './gates.js';
import type { Model } from './model-props.js';

const classNames: Readonly<Record<string, string>> = { passed: 'good', failed: 'bad', not_applicable: '' };

/** The verdict on a model. While it is too early for one: the open step, what to do, and when a verdict is possible. */
export function VerdictNote({
  model: { validation },
  report,
}: {
  readonly model: Model;
  readonly report: Report | undefined;
}) {
  const open = report && openGate(report.gates);
  return (
    <div class={`note ${classNames[validation.state] ?? 'warn'}`}>
      {/* The summary begins with the state. */}
      {report?.outlook && open ? (
        <>
          <VerdictBadge state={validation.state} />{' '}
          <strong>
            Step {open.step} of {report.gates.length} is open: {gateTitles[open.gate.gate]}.
          </strong>{' '}
          {dateText(report.outlook)}
        </>
      ) : (
        summaryText(validation.summary)
      )}
    </div>
  );
}

/** The day on which a verdict becomes possible, as a sentence. */
function dateText({
  verdict_day: day,
  is_estimate: isEstimate,
  horizon_days: horizon,
}: NonNullable<Report['outlook']>) {
  if (day === undefined)
    return `No date can be given yet. A lead counts ${countText(horizon)} days after its first score.`;
  if (Date.parse(day) <= Date.now()) return 'A verdict is possible as soon as the open steps are done.';
  return isEstimate
    ? `A verdict is possible from about ${dayText(day)}, if leads arrive and convert as so far.`
    : `A verdict is possible from ${dayText(day)}.`;
}

/** Says what to do about the open gate, and until when data is counted. */
export function Advice({ report }: { readonly report: Report }) {
  const { base, may } = useOrganisation();
  const open = openGate(report.gates)?.gate;
  if (open === undefined) return null;
  const { gate, state, needs } = open;
  const isCounted = state !== 'not_reached';
  return (
    <>
      {isCounted && needs && <p class="small">Missing: {needs}.</p>}
      <p class="small">
        <strong>Now:</strong> {state === 'failed' ? failedAdvice(gate) : earlyAdvice(open, report)}{' '}
        {asksOutcomes(open) && may('admin') && <a href={`${base}/outcomes`}>Report outcomes</a>}
      </p>
      {state !== 'failed' && (
        <p class="small soft">
          {isCounted && `Counted until ${instantText(report.grade?.as_of)}. `}
          {nextCountText(open)}
        </p>
      )}
    </>
  );
}

const asksOutcomes = ({ gate }: Gate): boolean =>
  gate === 'cohort_reconciles' || gate === 'matured_cohort' || gate === 'outcomes_observed';

function earlyAdvice({ gate, figures }: Gate, { outlook }: Report): string {
  if (gate === 'predictions_recorded') {
    const { cohort, required = requiredPredictions } = figures;
    if (cohort === undefined)
      return `Score leads with a live key and a crm_id. A verdict needs ${countText(required)} of them.`;
    const missing = required - cohort;
    return `Score ${countText(missing)} more ${missing === 1 ? 'lead' : 'leads'} with a live key and a crm_id.`;
  }
  if (gate === 'cohort_reconciles')
    return 'Report the outcome of each scored lead, also of those that did not convert.';
  if (gate === 'matured_cohort')
    return `Wait until the leads are ${countText(outlook?.horizon_days ?? horizonDaysOf(undefined))} days old, and go on reporting outcomes.`;
  return 'Go on scoring leads, and report each outcome.';
}

function failedAdvice(gate: Gate['gate']): string {
  if (gate === 'predictions_recorded') return 'Ask the operator why the predictions of counted calls are not stored.';
  if (gate === 'cohort_reconciles') return 'Report the outcomes of all scored leads under the same crm_id.';
  return 'Do not rely on these scores. Import a version that was trained on newer leads.';
}

function nextCountText({ gate, state }: Gate): string {
  if (gate !== 'predictions_recorded') return 'The next count is at 2:00 UTC, or half an hour after new outcomes.';
  return state === 'not_reached'
    ? `The first count comes within ${firstGradeWithinMinutes} minutes.`
    : 'New leads count within half an hour.';
}
