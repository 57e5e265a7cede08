import { deflateSync, gzipSync } from 'node:zlib';
import { type BadInput, type BadInputRig, goodBody, scoreCall } from './bad-input.js';

const text = (rig: BadInputRig): string => JSON.stringify(goodBody(rig));

/** A good body under headers that do not fit it. */
const under =
  (headers: Readonly<Record<string, string>>): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, text(rig), headers);

/** Bytes or a text in the place of a good body. */
const sent =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, body, headers);

const multipart = '--x\r\nContent-Disposition: form-data; name="model_id"\r\n\r\nmdl_1\r\n--x--\r\n';
const nested = (levels: number): string =>
  `{"model_id":"m","records":[],"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const gzip = { 'Content-Encoding': 'gzip' };
const json = /not valid JSON/;
const type = /Content-Type must be application\/json/;

/** 422: what cannot be read. */
export const badSyntax: readonly BadInput[] = (
  [
    ['an empty body', sent(''), /body is empty/],
    [
      'no body at all',
      ({ secret }) => ({
        path: '/v1/score',
        headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      }),
      /body is empty/,
    ],
    ['a body of white space', sent(' \r\n\t'), /body is empty/],
    ['a body that is a byte order mark', sent('\ufeff'), /body is empty/],
    [
      'no Content-Type',
      (rig) => ({
        path: '/v1/score',
        headers: { Authorization: `Bearer ${rig.secret}` },
        body: text(rig),
      }),
      type,
    ],
    ['an empty Content-Type', under({ 'Content-Type': '' }), type],
    ['a Content-Type that is none', under({ 'Content-Type': 'json' }), type],
    ['text/plain', under({ 'Content-Type': 'text/plain' }), type],
    ['text/json', under({ 'Content-Type': 'text/json' }), type],
    ['a form', sent('model_id=mdl_1', { 'Content-Type': 'application/x-www-form-urlencoded' }), type],
    ['multipart', sent(multipart, { 'Content-Type': 'multipart/form-data; boundary=x' }), type],
    ['XML', sent('<a/>', { 'Content-Type': 'application/xml' }), type],
    ['charset=utf-16', under({ 'Content-Type': 'application/json; charset=utf-16' }), type],
    ['charset=latin1', under({ 'Content-Type': 'application/json; charset=iso-8859-1' }), type],
    ['UTF-16, little endian', (rig) => scoreCall(rig, Buffer.from(text(rig), 'utf16le')), json],
    [
      'UTF-16 with its mark',
      (rig) => scoreCall(rig, Buffer.from(`\ufeff${text(rig)}`, 'utf16le')),
      /must be UTF-8/,
    ],
    [
      'UTF-16, big endian',
      (rig) => scoreCall(rig, Buffer.from(`\ufeff${text(rig)}`, 'utf16le').swap16()),
      /must be UTF-8/,
    ],
    [
      'Latin-1',
      (rig) => scoreCall(rig, Buffer.from(text(rig).replace('Webinar', 'Übung'), 'latin1')),
      /must be UTF-8/,
    ],
    ['a byte that is in no UTF-8', sent(Buffer.from([0x22, 0xff, 0x22])), /must be UTF-8/],
    ['an overlong encoding', sent(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), /must be UTF-8/],
    ['a surrogate in UTF-8', sent(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), /must be UTF-8/],
    ['corrupt gzip', sent('no gzip', gzip), /does not inflate/],
    [
      'truncated gzip',
      (rig) => scoreCall(rig, gzipSync(text(rig)).subarray(0, -9), gzip),
      /does not inflate/,
    ],
    [
      'deflate under the name of gzip',
      (rig) => scoreCall(rig, deflateSync(text(rig)), gzip),
      /does not inflate/,
    ],
    ['an empty body under gzip', sent('', gzip), /does not inflate/],
    ['gzip of nothing', (rig) => scoreCall(rig, gzipSync(''), gzip), /body is empty/],
    ['gzip that is not announced', (rig) => scoreCall(rig, gzipSync(text(rig))), /must be UTF-8/],
    ['deflate', under({ 'Content-Encoding': 'deflate' }), /must be gzip or absent, not "deflate"/],
    ['brotli', under({ 'Content-Encoding': 'br' }), /must be gzip or absent, not "br"/],
    ['two encodings', under({ 'Content-Encoding': 'gzip, gzip' }), /must be gzip or absent/],
    ['truncated JSON', (rig) => scoreCall(rig, text(rig).slice(0, -1)), json],
    ['a trailing comma', (rig) => scoreCall(rig, text(rig).replace(/\}$/, ',}')), json],
    ['a comment', (rig) => scoreCall(rig, `/* lead */${text(rig)}`), json],
    ['single quotes', (rig) => scoreCall(rig, text(rig).replaceAll('"', "'")), json],
    ['two documents', (rig) => scoreCall(rig, text(rig) + text(rig)), json],
    ['lines of JSON', (rig) => scoreCall(rig, `${text(rig)}\n${text(rig)}\n`), json],
    ['NaN', sent('{"model_id":"m","records":[{"a":NaN}]}'), json],
    ['Infinity', sent('{"model_id":"m","records":[{"a":-Infinity}]}'), json],
    ['undefined', sent('undefined'), json],
    ['hexadecimal', sent('{"model_id":"m","records":[{"a":0x10}]}'), json],
    ['a leading zero', sent('{"model_id":"m","records":[{"a":01}]}'), json],
    ['a control character in a text', sent('{"model_id":"m","records":[{"a":"\n"}]}'), json],
    ['a NUL byte', sent('{"model_id":"m"\0}'), json],
    ['half an escape', sent('{"model_id":"\\u12"}'), json],
    ['HTML', sent('<!doctype html>'), json],
    ['null', sent('null'), /body must be of type object/],
    ['a number', sent('1'), /body must be of type object/],
    ['a text', sent('"records"'), /body must be of type object/],
    ['true', sent('true'), /body must be of type object/],
    ['an array', sent('[]'), /body must be of type object/],
    ['an array of a good body', (rig) => scoreCall(rig, [goodBody(rig)]), /body must be of type object/],
    ['depth 33', sent(nested(32)), /deeper than 32/],
    [
      'depth 33 in a record',
      sent(`{"model_id":"m","records":[{"a":${'{"b":'.repeat(30)}1${'}'.repeat(30)}}]}`),
      /deeper than 32/,
    ],
    ['depth 100,000', sent('['.repeat(100_000) + ']'.repeat(100_000)), /deeper than 32/],
    ['depth 100,000 of objects', sent(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), /deeper than 32/],
    ['depth 1,000,000, never closed', sent('['.repeat(1_000_000)), json],
    ['NUL in a key', sent('{"model_id":"m","records":[{"a\\u0000":1}]}'), /key in the body contains a NUL/],
    ['NUL in a key far down', sent('{"x":[{"y":{"\\u0000":1}}]}'), /key in the body contains a NUL/],
    [
      'an Idempotency-Key of 256 characters',
      under({ 'Idempotency-Key': 'k'.repeat(256) }),
      /Idempotency-Key is longer than 255/,
    ],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(([name, call, says]) => ({ name, call, as: '422 bad_request', says }));
