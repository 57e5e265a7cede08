/** How a caller proves who it is. */
export const securitySchemes = {
  bearerKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key: `Authorization: Bearer <API_KEY>`. Works everywhere.',
  },
  headerKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The API key in a header of its own; webhooks only.',
  },
  basicKey: {
    type: 'http',
    scheme: 'basic',
    description:
      'The API key as the user name, without a password; webhooks only, for tools that can send nothing else.',
  },
} as const;

/** What most endpoints take. */
export const bearerOnly = [{ bearerKey: [] }] as const;

/** What webhooks take. Bearer wins when several are sent. */
export const webhookSecurity = [{ bearerKey: [] }, { headerKey: [] }, { basicKey: [] }] as const;
