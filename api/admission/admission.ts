import { type Clock, minuteText } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { hasLiveApi, isReadOnly } from '../../shared/contract/plans.js';
import { isCleared, type Verdict } from '../../shared/contract/verdict.js';
import type { Organisation } from '../../shared/store/accounts/organisations.js';
import { type Model, overrideOf } from '../../shared/store/models/models.js';
import type { ModelVerdicts } from '../../shared/store/validation/model-verdicts.js';
import type { AdmittedModel, ScoringCall } from '../call/scoring-call.js';
import type { Workspace, WorkspaceCache } from './workspace-cache.js';

/** The parts of a call, or of a bulk job, that its admission depends on. */
export type AdmissionRequest = Pick<ScoringCall, 'bucket' | 'modelId'> & {
  readonly apiKey: Pick<ScoringCall['apiKey'], 'organisation_id'>;
};

export interface Admitted {
  readonly organisation: Organisation;
  readonly model: AdmittedModel;
  readonly verdict: Verdict;
}

export interface AdmissionOptions {
  readonly workspaces: WorkspaceCache;
  readonly verdicts: ModelVerdicts;
  readonly clock: Clock;
}

/** Checks whether an organisation may score with a model now. The contract fixes the order of the checks. */
export class Admission {
  constructor(private readonly options: AdmissionOptions) {}

  /**
   * Admits a call.
   * @throws ApiError invalidApiKey, workspaceSuspended, expiredReadOnly, quotaExceeded (a plan without API),
   * modelNotFound, apiDisabled, deployBlocked
   */
  async admit(call: AdmissionRequest): Promise<Admitted> {
    const workspace = await this.options.workspaces.workspaceFor(call.apiKey.organisation_id, call.modelId);
    if (workspace === undefined)
      throw new ApiError('invalidApiKey', 'The organisation of the API key no longer exists.');
    const { organisation } = workspace;
    // Its keys are refused before. A bulk job has none.
    if (organisation.deletion !== undefined)
      throw new ApiError('invalidApiKey', 'The organisation of the API key is being deleted.');
    checkSuspension(organisation);
    this.checkPlan(organisation, call);
    const model = findModel(workspace, call.modelId);
    if (!model.live_api) {
      throw new ApiError(
        'apiDisabled',
        `Live API is off for "${model.name}": turn it on in the score's row under Activate, or with "leadscore model set ` +
          `${model._id} --live-api on". Retrying does not clear it.`,
      );
    }
    const verdict = await this.options.verdicts.of(model);
    checkPolicy(organisation, model, verdict);
    const compiled = await this.options.workspaces.manifest(model._id, model.version);
    if (compiled === undefined) throw new Error(`version ${model.version} of ${model._id} is not stored`);
    const { knownFields } = compiled;
    return { organisation, verdict, model: { id: model._id, version: model.version, knownFields } };
  }

  private checkPlan(organisation: Organisation, call: AdmissionRequest): void {
    if (isReadOnly(organisation, this.options.clock.now())) {
      throw new ApiError(
        'expiredReadOnly',
        'The trial has ended and there is no subscription: scoring resumes on a paid plan. Reading still works.',
      );
    }
    if (call.bucket === 'live' && !hasLiveApi(organisation)) {
      throw new ApiError(
        'quotaExceeded',
        'The Free plan has no Live API: live keys score on Pro and above. An upgrade clears this, the next month does not.',
      );
    }
  }
}

/**
 * The model with an id in a workspace.
 * @throws ApiError modelNotFound, in the same words whether it exists elsewhere or not
 */
export function findModel(workspace: Workspace, modelId: string): Model {
  const model = workspace.models.find((candidate) => candidate._id === modelId);
  if (model !== undefined) return model;
  throw new ApiError('modelNotFound', 'There is no model with this model_id in the workspace of the key.');
}

/** The reason is for people: the console shows it, and callers do not get it. */
function checkSuspension({ suspended }: Organisation): void {
  if (suspended === undefined) return;
  throw new ApiError(
    'workspaceSuspended',
    `The operator of the service suspended this workspace on ${minuteText(suspended.at.getTime())}: it scores nothing ` +
      'until the operator ends that. Reading, outcomes and erasure still work.',
  );
}

function checkPolicy(organisation: Organisation, model: Model, verdict: Verdict): void {
  if (organisation.policy !== 'block' || isCleared(verdict) || overrideOf(model) !== undefined) return;
  const gate = verdict.failing_gate === null ? '' : ` at the gate ${verdict.failing_gate}`;
  throw new ApiError(
    'deployBlocked',
    `The deploy policy is block and the model's validation state is ${verdict.state}${gate}. ${wayPast(verdict)} ` +
      `the refusal with "leadscore model set ${model._id} --override on --reason ...".`,
    { beside: { validation: verdict } },
  );
}

/** The sentence on how a refusal clears, up to the words about the administrator. */
function wayPast({ state, failing_gate: gate }: Verdict): string {
  const orLifted = ', or an administrator lifts';
  if (state === 'unresolved')
    return `It clears when the model has been graded again and passes, which the worker pools do every night${orLifted}`;
  const matures = 'It clears as predictions mature and the model passes its gates';
  if (gate !== 'predictions_recorded') return `${matures}${orLifted}`;
  return `${matures}; as refused calls record none, until there are enough of them an administrator must lift`;
}
