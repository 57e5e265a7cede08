import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../shared/errors.js';
import { type ExactRequest, readExactModel } from './exact-model.js';
import { memoryOf, messagesOf, type ReadingMessage } from './read-in-thread.js';

/*
 * The thread that reads a model: started for one, it sends what it has read, a message each time that it is asked, and
 * is ended by the one who started it.
 */

async function* answers(request: ExactRequest): AsyncGenerator<ReadingMessage> {
  try {
    yield* messagesOf(await readExactModel(request));
  } catch (error) {
    yield { kind: 'refused', reason: messageOf(error) };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const messages = answers(workerData as ExactRequest);
  port.on('message', async () => {
    const { value } = await messages.next();
    if (value !== undefined) port.postMessage(value, memoryOf(value));
  });
}
