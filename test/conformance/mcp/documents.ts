import { completable, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { image, PNG, resource, text } from './contents.ts'

const user = (content: object) => ({ role: 'user' as const, content: content as never })

export const addResources = (server: McpServer): void => {
  const addFixedResource = (
    name: string,
    mimeType: string,
    content: { text: string } | { blob: string },
  ) =>
    server.registerResource(name, `test://${name}`, { description: name, mimeType }, uri => ({
      contents: [{ uri: uri.href, mimeType, ...content }],
    }))
  addFixedResource('static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  })
  addFixedResource('static-binary', 'image/png', { blob: PNG })
  addFixedResource('watched-resource', 'text/plain', { text: 'watched' })
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'By its id.', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  )
}

export const addPrompts = (server: McpServer): void => {
  server.registerPrompt('test_simple_prompt', { description: 'Without arguments.' }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }))
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'With two arguments.',
      argsSchema: z.object({
        arg1: completable(z.string(), value =>
          ['paris', 'park'].filter(each => each.startsWith(value)),
        ),
        arg2: z.string(),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'With a picture.' }, () => ({
    messages: [user(image), user(text('Please analyze the image above.'))],
  }))
}
