import { deflateSync, gzipSync } from 'node:zlib';
import { type BadInput, goodBody, rowsAs, scoreCall } from './bad-input.js';
import type { BadInputRig } from './rig.js';

const text = (rig: BadInputRig): string => JSON.stringify(goodBody(rig));

/** A valid body with other headers. */
const under =
  (headers: Readonly<Record<string, string>>): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, text(rig), headers);

/** Another body. */
const sent =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, body, headers);

const multipart = '--x\r\nContent-Disposition: form-data; name="model_id"\r\n\r\nmdl_1\r\n--x--\r\n';
const nested = (levels: number): string =>
  `{"model_id":"m","records":[],"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const gzip = { 'Content-Encoding': 'gzip' };
const json = /not valid JSON/;
const utf16 = /must be UTF-8, and this is UTF-16/;
const type = /Content-Type must be application\/json/;

/** 422 of `POST /v1/score`: bodies that cannot be read. */
export const badSyntax = rowsAs('422 bad_request', [
  ['an empty body', sent(''), /body is empty/],
  [
    'no body and no Content-Length',
    ({ secret }) => ({
      path: '/v1/score',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
    }),
    /body is empty/,
  ],
  ['a body of whitespace', sent(' \r\n\t'), /body is empty/],
  ['a body that is only a byte order mark', sent('\ufeff'), /body is empty/],
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
  ['a Content-Type without a slash', under({ 'Content-Type': 'json' }), type],
  ['Content-Type text/plain', under({ 'Content-Type': 'text/plain' }), type],
  ['a URL-encoded form', sent('model_id=mdl_1', { 'Content-Type': 'application/x-www-form-urlencoded' }), type],
  [
    'a multipart form',
    sent(multipart, { 'Content-Type': 'multipart/form-data; boundary=x' }),
    /Content-Type must be application\/json, not multipart\/form-data/,
  ],
  ['XML', sent('<a/>', { 'Content-Type': 'application/xml' }), type],
  [
    'charset=utf-16',
    under({ 'Content-Type': 'application/json; charset=utf-16' }),
    /declares the charset "utf-16": send UTF-8, and declare utf-8 or none/,
  ],
  ['UTF-16 little endian without a byte order mark', (rig) => scoreCall(rig, Buffer.from(text(rig), 'utf16le')), utf16],
  [
    'UTF-16 little endian with a byte order mark',
    (rig) => scoreCall(rig, Buffer.from(`\ufeff${text(rig)}`, 'utf16le')),
    utf16,
  ],
  [
    'UTF-16 big endian with a byte order mark',
    (rig) => scoreCall(rig, Buffer.from(`\ufeff${text(rig)}`, 'utf16le').swap16()),
    utf16,
  ],
  ['Latin-1', (rig) => scoreCall(rig, Buffer.from(text(rig).replace('Webinar', 'Übung'), 'latin1')), /must be UTF-8/],
  ['a byte that UTF-8 never contains', sent(Buffer.from([0x22, 0xff, 0x22])), /must be UTF-8/],
  ['an overlong UTF-8 encoding', sent(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), /must be UTF-8/],
  ['a surrogate encoded in UTF-8', sent(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), /must be UTF-8/],
  ['corrupt gzip', sent('no gzip', gzip), /does not inflate/],
  ['truncated gzip', (rig) => scoreCall(rig, gzipSync(text(rig)).subarray(0, -9), gzip), /does not inflate/],
  ['deflate declared as gzip', (rig) => scoreCall(rig, deflateSync(text(rig)), gzip), /does not inflate/],
  ['an empty body declared as gzip', sent('', gzip), /does not inflate/],
  ['gzip of an empty body', (rig) => scoreCall(rig, gzipSync(''), gzip), /body is empty/],
  ['gzip without Content-Encoding', (rig) => scoreCall(rig, gzipSync(text(rig))), /must be UTF-8/],
  ['Content-Encoding deflate', under({ 'Content-Encoding': 'deflate' }), /must be gzip or absent, not "deflate"/],
  ['Content-Encoding br', under({ 'Content-Encoding': 'br' }), /must be gzip or absent, not "br"/],
  ['two content encodings', under({ 'Content-Encoding': 'gzip, gzip' }), /must be gzip or absent/],
  ['truncated JSON', (rig) => scoreCall(rig, text(rig).slice(0, -1)), json],
  ['a trailing comma', (rig) => scoreCall(rig, text(rig).replace(/\}$/, ',}')), json],
  ['a comment', (rig) => scoreCall(rig, `/* lead */${text(rig)}`), json],
  ['single quotes', (rig) => scoreCall(rig, text(rig).replaceAll('"', "'")), json],
  ['two JSON documents', (rig) => scoreCall(rig, text(rig) + text(rig)), json],
  ['newline-delimited JSON', (rig) => scoreCall(rig, `${text(rig)}\n${text(rig)}\n`), json],
  ['NaN', sent('{"model_id":"m","records":[{"a":NaN}]}'), json],
  ['Infinity', sent('{"model_id":"m","records":[{"a":-Infinity}]}'), json],
  ['the word undefined', sent('undefined'), json],
  ['a hexadecimal number', sent('{"model_id":"m","records":[{"a":0x10}]}'), json],
  ['a number with a leading zero', sent('{"model_id":"m","records":[{"a":01}]}'), json],
  ['a control character in a string', sent('{"model_id":"m","records":[{"a":"\n"}]}'), json],
  ['a NUL byte', sent('{"model_id":"m"\0}'), json],
  ['an incomplete escape', sent('{"model_id":"\\u12"}'), json],
  ['HTML', sent('<!doctype html>'), json],
  ['a body that is null', sent('null'), /body must be of type object/],
  ['a body that is a number', sent('1'), /body must be of type object/],
  ['a body that is a string', sent('"records"'), /body must be of type object/],
  ['a body that is true', sent('true'), /body must be of type object/],
  ['a body that is an array', sent('[]'), /body must be of type object/],
  ['an array with a valid body', (rig) => scoreCall(rig, [goodBody(rig)]), /body must be of type object/],
  ['nesting of depth 33', sent(nested(32)), /deeper than 32/],
  [
    'nesting of depth 33 in a record',
    sent(`{"model_id":"m","records":[{"a":${'{"b":'.repeat(30)}1${'}'.repeat(30)}}]}`),
    /deeper than 32/,
  ],
  ['arrays of depth 100,000', sent('['.repeat(100_000) + ']'.repeat(100_000)), /deeper than 32/],
  ['objects of depth 100,000', sent(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), /deeper than 32/],
  ['one million unclosed arrays', sent('['.repeat(1_000_000)), /ends too early/],
  [
    'two million unclosed arrays, which are counted before they are parsed',
    sent('['.repeat(2_000_000)),
    /deeper than 32/,
  ],
  ['arrays half a million levels deep', sent('['.repeat(500_000) + ']'.repeat(500_000)), /deeper than 32/],
  ['NUL in a key', sent('{"model_id":"m","records":[{"a\\u0000":1}]}'), /key in the body contains a NUL/],
  ['NUL in a nested key', sent('{"x":[{"y":{"\\u0000":1}}]}'), /key in the body contains a NUL/],
  [
    'an Idempotency-Key of 256 characters',
    under({ 'Idempotency-Key': 'k'.repeat(256) }),
    /Idempotency-Key is longer than 255/,
  ],
]);
