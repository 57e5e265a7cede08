import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { beyondSafe } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Schema, type ShapeOf, withoutMetaSchema } from '../../shared/contract/schema.js';
import { shortenedText } from '../../shared/contract/texts.js';
import { nearestName, renameAdvice } from '../call/notices.js';

const maxProblemsNamed = 5;
/** Other patterns exclude characters that no text may have. */
export const sha256Pattern = '^[0-9a-f]{64}$';

/** One for all routes of a thread: it compiles the schema that two of them share once. */
let ajv: Ajv2020 | undefined;

/**
 * Compiles a schema into a function that returns a valid body.
 * @throws (the function) ApiError unreadableRequest for an invalid body, with the path of each problem
 */
export function compileCheck<const Body extends Schema>(schema: Body): (value: unknown) => ShapeOf<Body> {
  ajv ??= newAjv();
  const validate = ajv.compile<ShapeOf<Body>>(schema);
  return (value) => {
    if (validate(value)) return value;
    const problems = (validate.errors ?? []).slice(0, maxProblemsNamed).map((error) => describe(error, schema));
    throw new ApiError('unreadableRequest', `${problems.join('; ')}.`);
  };
}

function newAjv(): Ajv2020 {
  // `ownProperties`: a member of the prototype does not count as sent.
  const created = new Ajv2020({
    ownProperties: true,
    allErrors: false,
    unicodeRegExp: true,
    // Messages name the values of the schema, and the members of the data.
    verbose: true,
    strict: true,
    strictTypes: false,
    ...withoutMetaSchema,
  });
  created.addFormat('well-formed-text', (text) => text.isWellFormed());
  // The schema documents the limits of arrays, but routes check them: exceeding one is 400, and an invalid
  // schema is 422.
  for (const keyword of ['minItems', 'maxItems']) created.removeKeyword(keyword).addKeyword(keyword);
  return created;
}

function describe({ instancePath, keyword, params, message, parentSchema, data }: ErrorObject, schema: object): string {
  const path = pathOf(instancePath);
  if (keyword === 'additionalProperties') return unknownMember(path, String(params.additionalProperty), schema);
  if (keyword === 'required') {
    const missing = String(params.missingProperty);
    const advice = renameAdvice(missing, Object.keys(data as object));
    return `${path === 'The body' ? '' : `${path}.`}${missing} is missing${advice && `: ${advice}`}`;
  }
  if (keyword === 'type' && Array.isArray(parentSchema?.enum)) return `${path} must be ${listed(parentSchema.enum)}`;
  if (keyword === 'type') return `${path} must be of type ${[params.type].flat().join(' or ')}`;
  if (keyword === 'enum') return `${path} must be ${listed(params.allowedValues)}`;
  if (keyword === 'pattern' && parentSchema?.pattern === sha256Pattern)
    return `${path} must be the SHA-256 of the file: 64 characters of 0-9 and a-f`;
  if (keyword === 'pattern' || keyword === 'format')
    return `${path} contains a character that is not allowed (NUL or half of a surrogate pair)`;
  if (keyword === 'maxLength') return `${path} must have at most ${String(params.limit)} characters`;
  if (keyword === 'minLength' && params.limit === 1) return `${path} must not be empty`;
  if ((keyword === 'minimum' || keyword === 'maximum') && Math.abs(params.limit) === Number.MAX_SAFE_INTEGER)
    return `${path} ${beyondSafe}`;
  return `${path} ${message ?? 'is not valid'}`;
}

const listed = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(' or ');

/** Converts `/records/17/crm_id` to `records[17].crm_id`. */
function pathOf(instancePath: string): string {
  if (instancePath === '') return 'The body';
  return instancePath
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : `${path}.${step}`));
}

const maxShownName = 60;

/** Names a member that is not known, and the known one that is called nearly so. */
function unknownMember(at: string, name: string, schema: object): string {
  const known = memberPaths(schema);
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1);
  const parent = at === 'The body' ? '' : `${at}.`;
  const near = nearestName(name, known.map(nameOf));
  const nearest = known.find((path) => nameOf(path) === near);
  const advice = nearest === undefined ? `Known: ${known.join(', ')}` : `Perhaps ${nearest} is meant`;
  return `${parent}${shortenedText(JSON.stringify(name).slice(1, -1), maxShownName)} is not known. ${advice}`;
}

/** The members of a schema of objects, such as `input.format`. */
function memberPaths(schema: object, before = ''): string[] {
  if (!('properties' in schema) || typeof schema.properties !== 'object' || schema.properties === null) return [];
  return Object.entries(schema.properties).flatMap(([name, member]: [string, object]) => {
    const inside = memberPaths(member, `${before}${name}.`);
    return inside.length > 0 ? inside : [before + name];
  });
}
