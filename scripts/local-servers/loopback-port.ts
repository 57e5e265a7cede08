import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * A TCP port that nothing on loopback listens on at this moment. Another process may still take it before it is
 * used, so whoever starts a server on it tries again with another one.
 * @returns the port's number
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The system gave no TCP port');
  return address.port;
}

/**
 * Whether something on loopback takes TCP connections on a port.
 * @param port the port's number
 */
export async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
