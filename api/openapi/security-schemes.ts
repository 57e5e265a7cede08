/** Ways to authenticate. */
export const securitySchemes = {
  bearerKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key: `Authorization: Bearer <API_KEY>`. Works on every endpoint.',
  },
  headerKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The API key in its own header; webhooks only.',
  },
  basicKey: {
    type: 'http',
    scheme: 'basic',
    description:
      'The API key as the user name, without a password; webhooks only, for tools that support nothing else.',
  },
} as const;

/** For every endpoint but webhooks. */
export const bearerOnly = [{ bearerKey: [] }] as const;

/** For webhooks. Bearer wins when a call sends several. */
export const webhookSecurity = [{ bearerKey: [] }, { headerKey: [] }, { basicKey: [] }] as const;
