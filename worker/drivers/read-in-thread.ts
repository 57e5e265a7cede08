import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ExactModel, type ExactRequest, readExactModel } from './exact-model.js';
import { NotASum } from './graph/sum.js';
import type { Grove, PreparedTrees } from './prepared-trees.js';

/** A file of this size takes some milliseconds to read; a larger one would hold up the calls that come meanwhile. */
const readAtOnceBytes = 32 * 1024;

/**
 * As `readExactModel`, in a thread of its own where that takes long: this one stays able to score other calls.
 * @throws NotASum when the model is neither a sum of trees nor of weighted columns, or cannot be read
 */
export async function readExactModelAside(request: ExactRequest): Promise<ExactModel> {
  if (request.onnx.length <= readAtOnceBytes) return readExactModel(request);
  const onnx = new Uint8Array(request.onnx);
  const thread = new Worker(new URL('./reading-thread.js', import.meta.url), {
    workerData: { ...request, onnx },
    transferList: [onnx.buffer],
  });
  try {
    return await receive(thread);
  } finally {
    await thread.terminate();
  }
}

async function receive(thread: Worker): Promise<ExactModel> {
  const failed = new Promise<never>((_, reject) => {
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('the thread that reads models has ended')));
  });
  failed.catch(() => undefined);
  // One message at a time, asked for: between two of them other work has its turn.
  const next = async (): Promise<Exclude<ReadingMessage, { kind: 'refused' }>> => {
    thread.postMessage('next');
    const [message] = await Promise.race([once(thread, 'message') as Promise<[ReadingMessage]>, failed]);
    if (message.kind === 'refused') throw new NotASum(message.reason);
    return message;
  };
  const first = await next();
  if (first.kind !== 'model') throw new Error('trees came before their model');
  const parts = new ModelInParts(first);
  while (!parts.isWhole) {
    const message = await next();
    if (message.kind === 'trees') parts.add(message);
  }
  return parts.whole;
}

/* What the thread that reads models sends back, one message each time that it is asked for the next. */

/** A model without its trees, some of its trees, or why it cannot be explained exactly. */
export type ReadingMessage =
  | { readonly kind: 'model'; readonly model: ExactModel; readonly trees: number }
  | { readonly kind: 'trees'; readonly grove: number; readonly trees: Grove['trees'] }
  | { readonly kind: 'refused'; readonly reason: string };

/** Trees that are sent at once: receiving them takes a few milliseconds. */
const treesAtOnce = 100;

/** A model as messages: first all but its trees, then these, a few at a time, so that receiving them holds nobody up. */
export function* messagesOf(model: ExactModel): Generator<ReadingMessage> {
  const groves = 'trees' in model.made ? model.made.trees.groves : [];
  const trees = groves.reduce((sum, grove) => sum + grove.trees.length, 0);
  yield {
    kind: 'model',
    model: withGroves(
      model,
      groves.map((grove) => ({ ...grove, trees: [] })),
    ),
    trees,
  };
  for (const [index, grove] of groves.entries())
    for (let first = 0; first < grove.trees.length; first += treesAtOnce)
      yield { kind: 'trees', grove: index, trees: grove.trees.slice(first, first + treesAtOnce) };
}

/** Puts a model together from its messages, the first of which is that of kind `model`. */
export class ModelInParts {
  private readonly groves: (Omit<Grove, 'trees'> & { readonly trees: Grove['trees'][number][] })[];
  private left: number;

  constructor(private readonly first: Extract<ReadingMessage, { kind: 'model' }>) {
    const { made } = first.model;
    this.groves = 'trees' in made ? made.trees.groves.map((grove) => ({ ...grove, trees: [] })) : [];
    this.left = first.trees;
  }

  get isWhole(): boolean {
    return this.left === 0;
  }

  add({ grove, trees }: Extract<ReadingMessage, { kind: 'trees' }>): void {
    this.groves[grove]?.trees.push(...trees);
    this.left -= trees.length;
  }

  get whole(): ExactModel {
    return withGroves(this.first.model, this.groves);
  }
}

function withGroves(model: ExactModel, groves: PreparedTrees['groves']): ExactModel {
  const { made } = model;
  return 'trees' in made ? { ...model, made: { trees: { ...made.trees, groves } } } : model;
}

/** The memory that a message's trees lie in, which then moves to the other thread without being copied. */
export function memoryOf(message: ReadingMessage): ArrayBuffer[] {
  if (message.kind !== 'trees') return [];
  const buffers = new Set<ArrayBuffer>();
  const add = (array: { readonly buffer: ArrayBufferLike }): void => {
    if (array.buffer instanceof ArrayBuffer) buffers.add(array.buffer);
  };
  for (const tree of message.trees) {
    for (const array of [tree.input, tree.threshold, tree.isMissingNear, tree.ancestor, tree.ancestorSide])
      add(array);
    for (const { plan, numbers } of tree.tables) {
      add(plan);
      add(numbers);
    }
  }
  return [...buffers];
}
