import { setImmediate as nextStep } from 'node:timers/promises';
import { expect } from 'chai';
import { burstBytes, bytesPerSecond, turnBytes } from '../../../api/http/unused-bytes.js';
import { RawConnection } from './raw-connection.js';

const senders = 8;
const piece = Buffer.alloc(64 * 1024, ' ');
/** Bytes of a connection that are not discarded yet: both systems and Node hold some. */
const bufferBytes = 8 * 1024 * 1024;

/**
 * Sends without end from eight clients, as fast as the server reads, while `meanwhile` runs. A client whose connection
 * is closed opens another. Expects that the server discards no more than its rate allows: a slow machine discards less.
 * @param begin what each client sends first
 */
export async function expectSlowDiscarding(url: string, begin: string, meanwhile: () => Promise<void>): Promise<void> {
  const beganMs = performance.now();
  let isOver = false;
  const sent: number[] = [];
  const send = async (): Promise<void> => {
    while (!isOver) sent.push(await sendUntil(url, begin, () => isOver));
  };
  const sending = Promise.all(Array.from({ length: senders }, send));
  try {
    await meanwhile();
  } finally {
    isOver = true;
    await sending;
  }
  const seconds = (performance.now() - beganMs) / 1_000;
  const most = burstBytes + seconds * bytesPerSecond + sent.length * (turnBytes + bufferBytes);
  expect(
    sent.reduce((sum, bytes) => sum + bytes, 0),
    `bytes that were taken in ${seconds} s`,
  ).to.be.below(most);
}

/** Sends on one connection until it is reset, or until the end. @returns bytes that left this process */
async function sendUntil(url: string, begin: string, isOver: () => boolean): Promise<number> {
  const connection = await RawConnection.open(url);
  const { socket } = connection;
  connection.send(begin);
  while (!isOver() && !socket.destroyed) {
    if (socket.writableLength < piece.length) socket.write(piece);
    await nextStep();
  }
  const { bytesWritten, writableLength } = socket;
  connection.destroy();
  return bytesWritten - writableLength;
}
