import type { Schema } from '../../shared/contract/schema.js';

/** The part of OpenAPI 3.1 that the documents use, as types. */

export type Examples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;

export interface MediaType {
  readonly schema: Schema;
  readonly examples?: Examples;
}

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Parameter extends Header {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
}

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface RequestBody {
  readonly description: string;
  readonly required: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

/** Alternative security schemes, by name. */
type Security = readonly Readonly<Record<string, readonly string[]>>[];

/** A call in one language. `x-codeSamples` is understood by most reference pages. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

export interface Operation extends BareOperation {
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: RequestBody;
  /** By status. */
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-codeSamples'?: readonly CodeSample[];
}

export type BareParameter = Omit<Parameter, 'description'>;

/** An operation with the least that a document needs. */
export interface BareOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security?: Security;
  readonly parameters?: readonly BareParameter[];
  readonly requestBody?: Pick<RequestBody, 'content'>;
  readonly responses: Readonly<Record<string, Omit<Response, 'headers'>>>;
}

export const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const;
export type PathItem<Documented = Operation> = { readonly [Method in (typeof methods)[number]]?: Documented };

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary?: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier?: string; readonly url?: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly security: Security;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}
