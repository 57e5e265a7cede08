import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ExactModel, type ExactRequest, readExactModel } from './exact-model.js';
import { NotASum } from './not-a-sum.js';
import { ModelInParts, type ReadingMessage } from './reading-messages.js';

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
