import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { standingOutput } from '../../../shared/admin/schemas/organisations.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { countText, dayText } from './parts/formats.js';
import { onChange } from './server/call.js';
import { useOrganisation } from './server/session.js';
import { useLoad, useRefresh } from './server/use-load.js';

type Refusal = ShapeOf<typeof standingOutput>['refusals'][number];
/** The server reads all models of an organisation for it. */
const refreshMs = 60_000;

/** On each page of an organisation: why its calls are refused now, and the way out. */
export function Refusals() {
  const { api, organisationId } = useOrganisation();
  const standing = useLoad<ShapeOf<typeof standingOutput>>(organisationId === '' ? undefined : `${api}/standing`);
  const { data, reload } = standing;
  useEffect(() => onChange(reload), [reload]);
  useRefresh(standing, refreshMs);
  return (
    <>
      {data?.refusals.map((refusal) => (
        <section key={refusal.reason} class="note bad" aria-label="Refused calls">
          <Words of={refusal} plan={data.plan} />
        </section>
      ))}
    </>
  );
}

function Words({ of: refusal, plan }: { readonly of: Refusal; readonly plan: string }) {
  const { base } = useOrganisation();
  const { reason, since, until, backstop = 0, operator_reason: why } = refusal;
  if (reason === 'suspended')
    return (
      <>
        <strong>
          The operator of the service suspended this organisation{since && ` on ${dayText(since)}`}: nothing is scored.
        </strong>{' '}
        The reason: “{why}”. Reading, outcomes and erasure work. Bulk jobs wait. <SuspensionWay />
      </>
    );
  if (reason === 'trial_ended')
    return (
      <>
        <strong>
          The trial {since ? `ended on ${dayText(since)}` : 'has ended'}: scoring calls of all keys are refused.
        </strong>{' '}
        Reading works. <PlanWay>A paid plan lets them score again.</PlanWay>
      </>
    );
  if (reason === 'plan_without_live_calls')
    return (
      <>
        <strong>The plan {plan} has no live records: calls of live keys are refused.</strong> Test keys score.{' '}
        <PlanWay>Another plan lets live keys score.</PlanWay>
      </>
    );
  if (reason === 'hard_stop')
    return (
      <>
        <strong>
          All {countText(backstop)} records of this month are used: calls of live keys are refused until{' '}
          {until && dayText(until)}, midnight UTC.
        </strong>{' '}
        <PlanWay>A higher limit lets them score at once.</PlanWay>
      </>
    );
  const { models = [], model_count: count = 0 } = refusal;
  return (
    <>
      <strong>
        The deploy policy is block: calls of {count === 1 ? 'a model' : `${countText(count)} models`} that{' '}
        {count === 1 ? 'has' : 'have'} not passed are refused.
      </strong>{' '}
      {models.map(({ model_id: id, name }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a href={`${base}/models/${encodeURIComponent(id)}#override`}>{name}</a>
        </span>
      ))}
      {count > models.length && ` and ${countText(count - models.length)} more`}. <PolicyWay />
    </>
  );
}

/** Plan and limit are set by operators. */
function PlanWay({ children }: { readonly children: ComponentChildren }) {
  const { base, may } = useOrganisation();
  return (
    <>
      {children} <a href={`${base}/settings#plan`}>{may('operator') ? 'Set the plan' : 'Ask the operator for it.'}</a>
    </>
  );
}

function SuspensionWay() {
  const { base, may } = useOrganisation();
  return may('operator') ? (
    <a href={`${base}/settings#suspension`}>End the suspension</a>
  ) : (
    <>Ask the operator to end it.</>
  );
}

function PolicyWay() {
  const { base, may } = useOrganisation();
  if (!may('admin')) return <>An admin can override the verdict on the page of a model.</>;
  return (
    <>
      Override the verdict on the page of the model
      {may('owner') ? (
        <>
          , or <a href={`${base}/settings#policy`}>set the policy to warn</a>.
        </>
      ) : (
        ', or ask an owner to set the policy to warn.'
      )}
    </>
  );
}
