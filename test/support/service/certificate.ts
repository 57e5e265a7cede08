import { join } from 'node:path';
import { runProgram } from '../run-program.js';

/** Where a certificate for 127.0.0.1 and its key are; it is signed by itself, and so also what it is checked against. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

const limitMs = 30_000;

/**
 * Makes a certificate with the `openssl` of this machine.
 * @returns undefined when `openssl` is missing
 */
export async function makeCertificate(directory: string): Promise<Certificate | undefined> {
  const certFile = join(directory, 'certificate.pem');
  const keyFile = join(directory, 'key.pem');
  const { exitCode } = await runProgram(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'],
      ...['-keyout', keyFile, '-out', certFile],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ],
    { limitMs },
  );
  return exitCode === 0 ? { certFile, keyFile } : undefined;
}
