import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { projectFile } from '../../shared/process/project-root.js';
import { noted } from '../pool/crash-note.js';
import { type ExactModel, type ExactRequest, readExactModel } from './exact-model.js';
import { NotASum } from './graph/sum.js';
import type { TreeGroup } from './trees/prepared-trees.js';

/** Files up to this size are read in milliseconds, or in 2 s if their trees share nodes. Larger ones take longer. */
const maxInlineBytes = 32 * 1024;

/**
 * Like `readExactModel`, but reads a large file in a separate thread, so that this thread can score other calls.
 * @throws NotASum unless the model is a readable sum of trees or of weighted columns
 */
export async function readExactModelInThread(request: ExactRequest): Promise<ExactModel> {
  if (request.onnx.length <= maxInlineBytes) return noted(() => readExactModel(request));
  const onnx = new Uint8Array(request.onnx);
  const thread = new Worker(projectFile('dist/worker/drivers/reading-thread.js'), {
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
  const trees: TreeGroup['trees'][number][][] = [];
  for (;;) {
    // Each message is requested, so that other work can run in between.
    thread.postMessage('next');
    const [message] = await Promise.race([once(thread, 'message') as Promise<[ReadingMessage]>, failed]);
    if ('refused' in message) throw new NotASum(message.refused);
    if ('model' in message) return withTrees(message.model, (group) => trees[group] ?? []);
    trees[message.group] ??= [];
    trees[message.group]?.push(...message.trees);
  }
}

/**
 * Reply of the reading thread to one request: some trees of a group, then the model without its trees, or a refusal.
 */
export type ReadingMessage =
  | { readonly group: number; readonly trees: TreeGroup['trees'] }
  | { readonly model: ExactModel }
  | { readonly refused: string };

/** Receiving this many trees takes a few milliseconds. */
const treesPerMessage = 100;

/** Splits a model into messages. */
export function* messagesOf(model: ExactModel): Generator<ReadingMessage> {
  const groups = 'trees' in model.made ? model.made.trees.groups : [];
  for (const [group, { trees }] of groups.entries())
    for (let first = 0; first < trees.length; first += treesPerMessage)
      yield { group, trees: trees.slice(first, first + treesPerMessage) };
  yield { model: withTrees(model, () => []) };
}

function withTrees(model: ExactModel, treesOf: (group: number) => TreeGroup['trees']): ExactModel {
  if (!('trees' in model.made)) return model;
  const { trees } = model.made;
  const groups = trees.groups.map((group, index) => ({ ...group, trees: treesOf(index) }));
  return { ...model, made: { trees: { ...trees, groups } } };
}

/** The buffers of a message's trees, to be transferred to the other thread without a copy. */
export function transferListOf(message: ReadingMessage): ArrayBuffer[] {
  const trees = 'trees' in message ? message.trees : [];
  const arrays = trees.flatMap((tree) => [tree, ...tree.tables].flatMap((part): unknown[] => Object.values(part)));
  const buffers = arrays.filter(ArrayBuffer.isView).map(({ buffer }) => buffer);
  return [...new Set(buffers.filter((buffer) => buffer instanceof ArrayBuffer))];
}
