import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ExactModel, type ExactRequest, readExactModel } from './exact-model.js';
import { NotASum } from './graph/sum.js';
import type { PreparedTrees, TreeGroup } from './trees/prepared-trees.js';

/** Files up to this size are read in a few milliseconds; larger ones would block other calls. */
const maxInlineBytes = 32 * 1024;

/**
 * Like `readExactModel`, but reads a large file in a separate thread, so that this thread can score other calls.
 * @throws NotASum unless the model is a readable sum of trees or of weighted columns
 */
export async function readExactModelInThread(request: ExactRequest): Promise<ExactModel> {
  if (request.onnx.length <= maxInlineBytes) return readExactModel(request);
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
    thread.once('exit', () => reject(new Error('the model reading thread exited')));
  });
  failed.catch(() => undefined);
  // Each message is requested, so that other work can run in between.
  const next = async (): Promise<Exclude<ReadingMessage, { kind: 'refused' }>> => {
    thread.postMessage('next');
    const [message] = await Promise.race([once(thread, 'message') as Promise<[ReadingMessage]>, failed]);
    if (message.kind === 'refused') throw new NotASum(message.reason);
    return message;
  };
  const first = await next();
  if (first.kind !== 'model') throw new Error('the model reading thread sent trees before their model');
  const parts = new ModelAssembler(first);
  while (!parts.isWhole) {
    const message = await next();
    if (message.kind === 'trees') parts.add(message);
  }
  return parts.whole;
}

/** Reply of the reading thread to one request: a model without its trees, some of its trees, or a refusal. */
export type ReadingMessage =
  | { readonly kind: 'model'; readonly model: ExactModel; readonly trees: number }
  | { readonly kind: 'trees'; readonly group: number; readonly trees: TreeGroup['trees'] }
  | { readonly kind: 'refused'; readonly reason: string };

/** Receiving this many trees takes a few milliseconds. */
const treesPerMessage = 100;

/** Splits a model into messages: first the model without its trees, then its trees in batches. */
export function* messagesOf(model: ExactModel): Generator<ReadingMessage> {
  const groups = 'trees' in model.made ? model.made.trees.groups : [];
  const trees = groups.reduce((sum, group) => sum + group.trees.length, 0);
  yield {
    kind: 'model',
    model: withGroups(
      model,
      groups.map((group) => ({ ...group, trees: [] })),
    ),
    trees,
  };
  for (const [index, group] of groups.entries())
    for (let first = 0; first < group.trees.length; first += treesPerMessage)
      yield { kind: 'trees', group: index, trees: group.trees.slice(first, first + treesPerMessage) };
}

/** Assembles a model from its messages. The first message has kind `model`. */
export class ModelAssembler {
  private readonly groups: (Omit<TreeGroup, 'trees'> & { readonly trees: TreeGroup['trees'][number][] })[];
  private left: number;

  constructor(private readonly first: Extract<ReadingMessage, { kind: 'model' }>) {
    const { made } = first.model;
    this.groups = 'trees' in made ? made.trees.groups.map((group) => ({ ...group, trees: [] })) : [];
    this.left = first.trees;
  }

  get isWhole(): boolean {
    return this.left === 0;
  }

  add({ group, trees }: Extract<ReadingMessage, { kind: 'trees' }>): void {
    this.groups[group]?.trees.push(...trees);
    this.left -= trees.length;
  }

  get whole(): ExactModel {
    return withGroups(this.first.model, this.groups);
  }
}

function withGroups(model: ExactModel, groups: PreparedTrees['groups']): ExactModel {
  const { made } = model;
  return 'trees' in made ? { ...model, made: { trees: { ...made.trees, groups } } } : model;
}

/** The buffers of a message's trees, to be transferred to the other thread without a copy. */
export function transferListOf(message: ReadingMessage): ArrayBuffer[] {
  if (message.kind !== 'trees') return [];
  const buffers = new Set<ArrayBuffer>();
  const add = (array: { readonly buffer: ArrayBufferLike }): void => {
    if (array.buffer instanceof ArrayBuffer) buffers.add(array.buffer);
  };
  for (const tree of message.trees) {
    for (const array of [tree.input, tree.threshold, tree.isMissingNear, tree.ancestor, tree.ancestorSide]) add(array);
    for (const { plan, numbers } of tree.tables) {
      add(plan);
      add(numbers);
    }
  }
  return [...buffers];
}
