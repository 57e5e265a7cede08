import type {
  Header,
  MediaType,
  OpenApiDocument,
  Operation,
  Parameter,
  PathItem,
  Response,
  Schema,
} from './openapi-types.js';

type Change = (schema: Schema) => Schema;
type Entries<Value> = Readonly<Record<string, Value>>;

/** The document with every schema changed; what is an example, or a reference to something else, stays as it is. */
export function withEachSchema(document: OpenApiDocument, change: Change): OpenApiDocument {
  const { schemas, headers, parameters, responses, securitySchemes } = document.components;
  return {
    ...document,
    paths: eachOf(document.paths, (item) => inPathItem(item, change)),
    components: {
      schemas: eachOf(schemas, change),
      headers: eachOf(headers, (header) => withSchema(header, change)),
      parameters: eachOf(parameters, (parameter) => withSchema(parameter, change)),
      responses: eachOf(responses, (response) => inResponse(response, change)),
      securitySchemes,
    },
  };
}

const eachOf = <Value, Changed>(
  entries: Entries<Value>,
  change: (value: Value) => Changed,
): Entries<Changed> =>
  Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, change(value)]));

/** A reference has no schema of its own. */
const withSchema = <Part extends Header | Parameter | MediaType>(part: Part, change: Change): Part =>
  '$ref' in part ? part : { ...part, schema: change(part.schema) };

const inPathItem = (item: PathItem, change: Change): PathItem =>
  eachOf(item as Entries<Operation>, (operation) => inOperation(operation, change));

function inOperation(operation: Operation, change: Change): Operation {
  const { requestBody } = operation;
  return {
    ...operation,
    parameters: operation.parameters.map((parameter) => withSchema(parameter, change)),
    ...(requestBody && { requestBody: { ...requestBody, content: inContent(requestBody.content, change) } }),
    responses: eachOf(operation.responses, (response) => inResponse(response, change)),
  };
}

const inResponse = (response: Response, change: Change): Response => ({
  ...response,
  headers: eachOf(response.headers, (header) => withSchema(header, change)),
  ...(response.content && { content: inContent(response.content, change) }),
});

const inContent = (content: Entries<MediaType>, change: Change): Entries<MediaType> =>
  eachOf(content, (media) => withSchema(media, change));
