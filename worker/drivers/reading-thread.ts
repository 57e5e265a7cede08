import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../shared/contract/errors.js';
import { type ExactRequest, readExactModel } from './exact-model.js';
import { messagesOf, type ReadingMessage, transferListOf } from './read-in-thread.js';

/*
 * Entry of the thread that reads one model. It posts one message per request; the parent terminates it.
 */

function* answers(request: ExactRequest): Generator<ReadingMessage> {
  try {
    yield* messagesOf(readExactModel(request));
  } catch (error) {
    yield { refused: messageOf(error) };
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const messages = answers(workerData as ExactRequest);
  port.on('message', () => {
    const { value } = messages.next();
    if (value !== undefined) port.postMessage(value, transferListOf(value));
  });
}
