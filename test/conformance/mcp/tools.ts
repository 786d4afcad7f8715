import { fromJsonSchema, type McpServer, type ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { audio, image, resource, text } from './contents.ts'

/** Every keyword of JSON Schema 2020-12 that a list of tools must not lose. */
const RICH = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
} as const

const HEADED = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
} as const

const reportProgress = async ({ mcpReq }: ServerContext): Promise<void> => {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  for (const progress of [0, 50, 100])
    await mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress, total: 100 },
    })
}

/** Tools that answer at once. */
export const addTools = (server: McpServer): void => {
  const addPlainTool = (name: string, content: object[]) =>
    server.registerTool(name, { description: name }, () => ({ content: content as never }))
  addPlainTool('test_simple_text', [text('This is a simple text response for testing.')])
  addPlainTool('test_image_content', [image])
  addPlainTool('test_audio_content', [audio])
  addPlainTool('test_embedded_resource', [
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ])
  addPlainTool('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ])
  server.registerTool('test_error_handling', { description: 'Always fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Tells how far it is.' },
    async context => {
      await reportProgress(context)
      return { content: [text('done')] }
    },
  )
  for (const name of ['test_tool_with_logging', 'test_logging_tool'])
    server.registerTool(name, { description: 'Logs while it works.' }, async ({ mcpReq }) => {
      for (const line of ['started', 'processing data', 'completed'])
        await mcpReq.log('info', `Tool execution ${line}`)
      return { content: [text('logged')] }
    })
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Tool with JSON Schema 2020-12 features',
      inputSchema: fromJsonSchema(RICH as never),
    },
    () => ({ content: [text('ok')] }),
  )
  server.registerTool(
    'test_headed',
    { description: 'Its region is a header too.', inputSchema: fromJsonSchema(HEADED as never) },
    () => ({ content: [text('ok')] }),
  )
  // what the stateless revision of 2025 cannot ask: the client is told so
  for (const [name, field] of [
    ['test_sampling', 'prompt'],
    ['test_elicitation', 'message'],
  ] as const)
    server.registerTool(
      name,
      { description: 'Asks the client.', inputSchema: z.object({ [field]: z.string() }) },
      () => ({ isError: true, content: [text('there is no session to ask in')] }),
    )
}
