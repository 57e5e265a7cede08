import type { Explain, Manifest } from '../../shared/bundle/manifest/manifest.js';
import type { ExplainMethod } from '../../shared/messages/score-job.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { AdmittedModel } from './admission.js';

const maxWaitMs = 3_000;
/** How soon a worker is asked again that did not answer. */
const retryMs = 30_000;
const rememberedVersions = 10_000;

interface Answer {
  readonly method: Promise<ExplainMethod>;
  readonly untilMs: number;
}

/**
 * How models are really explained: a worker knows, since a model whose contributions do not add up to what ONNX says is
 * explained by occlusion, whatever its manifest promises. Each version is asked for once.
 */
export class ExplainMethods {
  private readonly answers = new Map<string, Answer>();

  constructor(private readonly dispatcher: Pick<Dispatcher, 'explainMethod'>) {}

  /** The method of a model; what its manifest promises while no worker answers. Never throws. */
  async of(organisationId: string, model: AdmittedModel, manifest: Manifest): Promise<ExplainMethod> {
    const key = `${model.id}:${model.version}`;
    const known = this.answers.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return await known.method;
    const asked = this.dispatcher.explainMethod({ organisationId, model }, maxWaitMs);
    const method = asked.catch(() => promisedMethod(manifest.explain));
    this.remember(key, { method, untilMs: Number.POSITIVE_INFINITY });
    asked.catch(() => this.remember(key, { method, untilMs: performance.now() + retryMs }));
    return await method;
  }

  private remember(key: string, answer: Answer): void {
    this.answers.delete(key);
    this.answers.set(key, answer);
    const [oldest] = this.answers.keys();
    if (this.answers.size > rememberedVersions && oldest !== undefined) this.answers.delete(oldest);
  }
}

const promisedMethod = (explain: Explain | undefined): ExplainMethod =>
  explain === undefined || explain.kind === 'baseline' ? 'occlusion' : explain.kind;
