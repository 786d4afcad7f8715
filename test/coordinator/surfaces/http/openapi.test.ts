import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { cliOf } from '../../../../coordinator/kernel/declaration/declaration.ts'
import { failureOf, rpcError } from '../../../../coordinator/surfaces/a2a/errors.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { docsPage } from '../../../../coordinator/surfaces/http/docs-page.ts'
import type { OpenApiDocument } from '../../../../coordinator/surfaces/http/openapi.ts'
import { publicUrls } from '../../../../coordinator/surfaces/http/public-urls.ts'
import { protocolError } from '../../../../coordinator/surfaces/mcp/caller.ts'
import { toErrorResult } from '../../../../coordinator/surfaces/mcp/tool-answer.ts'
import { errorBody, ShoalError } from '../../../../shared/errors.ts'
import { ChatRequest } from '../../../../shared/wire/openai.ts'
import { appWith, config } from '../../../support/app.ts'

const app = await appWith()
t.teardown(() => app.close())
const answer = await app.inject({ url: '/v1/openapi.json' })
const document = answer.json() as OpenApiDocument

interface Described {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, unknown>[]
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { content: Record<string, { schema: object }> }
  responses: Record<string, { description?: string; $ref?: string }>
}

const described = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method,
    operation: operation as unknown as Described,
  })),
)

/** True for a body that is an object, not a file. */
const takesJson = ({ requestBody }: Described): boolean =>
  requestBody !== undefined && !('text/csv' in requestBody.content)

/** The routes of the server, read from the tree that Fastify prints. */
const listRoutes = (): string[] => {
  const above: string[] = []
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  return lines.flatMap(line => {
    const [, indent = '', piece = '', methods = ''] =
      /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    const depth = indent.length / 4
    above.length = depth
    above.push(piece)
    const path = above
      .join('')
      .replaceAll(/:(\w+)/g, '{$1}')
      .replace(/\*$/, '/{model}')
    return methods === '' ? [] : methods.split(', ').map(method => `${method} ${path}`)
  })
}

t.test('the document is public and describes itself', async t => {
  t.equal(answer.statusCode, 200)
  t.equal(document.openapi, '3.1.0')
  t.match(document.info, { title: 'shoal', version: /^\d+\.\d+\.\d+$/ })
  t.strictSame(document.servers, [{ url: 'http://127.0.0.1:7070' }])
})

t.test('every registered route is in the document, and the reverse', async t => {
  const inDocument = described.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  // the router lists a place once, with the names that its routes give it: {model}|{alias}
  const named = (route: string): string =>
    inDocument.find(each => each === route.replace(/\{\w+\}\|/, '')) ??
    route.replace(/\|\{\w+\}/, '')
  const inServer = listRoutes()
    .filter(route => !route.startsWith('HEAD '))
    .map(named)
  t.not(inServer.length, 0)
  t.strictSame(inDocument.toSorted(), inServer.toSorted())
})

t.test('operation ids are unique, and every operation has the required fields', async t => {
  const ids = described.map(({ operation }) => operation.operationId)
  t.equal(new Set(ids).size, ids.length)
  const tags = new Set(document.tags.map(({ name }) => name))
  const isComplete = ({ path, method, operation }: (typeof described)[number]): boolean => {
    const inPath = operation.parameters.filter(({ in: place }) => place === 'path')
    const template = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    return (
      /^[A-Z].+\.$/.test(operation.summary) &&
      operation.tags.every(tag => tags.has(tag)) &&
      inPath.map(({ name }) => name).join() === template.join() &&
      inPath.every(({ required }) => required) &&
      !(operation.requestBody !== undefined && method === 'get') &&
      Object.keys(operation.responses).every(status => /^(\d{3}|default)$/.test(status))
    )
  }
  t.strictSame(
    described.filter(each => !isComplete(each)),
    [],
  )
})

t.test('every reference resolves, and no schema has bounds of safe integers', async t => {
  t.notMatch(answer.body, '9007199254740991')
  const targetOf = (reference: string): unknown =>
    reference
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[name], document)
  const references = [...answer.body.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    ([, reference = '']) => reference,
  )
  t.not(references.length, 0)
  t.strictSame(
    references.filter(reference => targetOf(reference) === undefined),
    [],
  )
})

t.test('every operation has its access, effect and place on the command line', async t => {
  const all = [...operations, ...skills]
  const inDocument = all.map(({ id }) => {
    const found = described.find(({ operation }) => operation.operationId === id)
    return { ...found?.operation, locks: found?.operation.security.length }
  })
  t.match(
    inDocument,
    all.map(declared => ({
      'x-shoal-access': declared.access,
      'x-shoal-effect': declared.effect,
      'x-shoal-cli': cliOf(declared),
      locks: declared.access === 'none' ? 0 : 1,
    })),
  )
  const places = new Set(all.map(declared => Object.values(cliOf(declared)).join(' ')))
  t.equal(places.size, all.length)
})

t.test('the input of an operation is split over path, query and body', async t => {
  const show = described.find(({ operation }) => operation.operationId === 'cells-show')
  t.match(show, {
    path: '/v1/cells/{cell_id}',
    operation: { parameters: [{ name: 'cell_id', in: 'path', required: true }] },
  })
  const create = described.find(({ operation }) => operation.operationId === 'tokens-create')
  t.match(create?.operation.requestBody?.content['application/json']?.schema, {
    type: 'object',
    properties: { ttl_minutes: { type: 'integer', minimum: 1, maximum: 10080, default: 60 } },
    additionalProperties: false,
  })
})

t.test('a reader with the current document gets 304', async t => {
  const etag = String(answer.headers.etag)
  for (const [tag, status] of [
    [etag, 304],
    [`"other", W/${etag}`, 304],
    ['*', 304],
    ['"other"', 200],
  ] as const) {
    const again = await app.inject({
      url: '/v1/openapi.json',
      headers: { 'if-none-match': tag },
    })
    t.equal(again.statusCode, status, tag)
    t.equal(again.headers.etag, etag)
    t.equal(again.body === '', status === 304)
  }
})

t.test('a document is compressed as the reader accepts, with a tag for each encoding', async t => {
  for (const url of ['/v1/openapi.json', '/docs', '/.well-known/agent.json']) {
    const ask = (accepted: string, more = {}) =>
      app.inject({ url, headers: { 'accept-encoding': accepted, ...more } })
    const plain = await ask('identity')
    const tags = new Set([plain.headers.etag])
    for (const [accepted, encoding, unpack] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip;q=0.5, br;q=0', 'gzip', gunzipSync],
    ] as const) {
      const packed = await ask(accepted)
      t.match(packed.headers, {
        'content-encoding': encoding,
        vary: /Accept-Encoding/,
        'x-ratelimit-limit': /./,
        'content-length': String(packed.rawPayload.length),
      })
      t.ok(packed.rawPayload.length < plain.rawPayload.length / 2)
      t.ok(unpack(packed.rawPayload).equals(plain.rawPayload), `${url} ${encoding}`)
      const etag = String(packed.headers.etag)
      tags.add(etag)
      t.equal((await ask(accepted, { 'if-none-match': etag })).statusCode, 304)
    }
    t.equal(tags.size, 3)
    t.equal(plain.headers['content-encoding'], undefined)
    t.equal((await app.inject({ url, method: 'HEAD' })).body, '')
  }
})

t.test('the HTML page', async t => {
  const page = await app.inject({ url: '/docs' })
  /** The part of the page about one route. */
  const section = (id: string): string =>
    page.body.split('<section ').find(part => part.includes(`id="${id}"`)) ?? ''

  t.test('links every route, and executes and loads nothing', async t => {
    t.match(page.headers, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': /default-src 'none'/,
    })
    const isOnPage = ({ path, operation: { operationId } }: (typeof described)[number]): boolean =>
      section(operationId).includes(`<code>${path}</code>`) &&
      section(operationId).includes('curl -s ') &&
      page.body.includes(`href="#${operationId}"`)
    t.strictSame(
      described.filter(each => !isOnPage(each)).map(({ path }) => path),
      [],
    )
    t.ok(page.body.includes('>GET /<wbr>v1/<wbr>cells/<wbr>{cell_id}</a>'), 'long paths wrap')
    t.notMatch(page.body, /text-overflow|nowrap/)
    t.notMatch(page.body, /<script|<link|<img|@import|url\(|(src|href)="http/)
    t.notMatch(page.body, /[^"]undefined|\[object/)
  })

  t.test('states the access, input and output of each operation', async t => {
    const set = section('tags-config-set')
    for (const part of [
      'The key needs an operator role. Roles: <code>operator_admin</code>. Effect: write.',
      '<code>shoal tags config set &lt;tag&gt;</code>',
      '<code>tag</code> <i>required</i></td><td>string</td><td>In the path. 1 to 64 characters.',
      '<code>document.log.level</code></td><td>string</td><td>One of trace, debug, info,',
      '<code>cells</code></td><td>integer</td>',
      '403 (<code>forbidden</code>, <code>tenant_forbidden</code>, <code>origin_not_allowed</code>',
    ])
      t.ok(set.includes(part), part)
    const chat = section('create-chat-completion')
    for (const part of [
      'Any key is accepted.',
      '<code>messages[].role</code> <i>required</i></td><td>&quot;system&quot; | ',
      '<code>temperature</code></td><td>number | null</td><td>0 to 2.',
      '<code>tier_exceeded</code>',
      'Answer 200, <code>text/event-stream</code>',
    ])
      t.ok(chat.includes(part), part)
    t.ok(section('alive').includes('No key is required.'))
    t.ok(section('cells-list').includes('Default false.'))
  })

  t.test('has examples that can be sent', async t => {
    const bodies = [...page.body.matchAll(/ -d &#39;(.*)&#39;<\/pre>/g)].map(([, text = '']) =>
      JSON.parse(text.replaceAll('&quot;', '"')),
    )
    t.equal(bodies.length, described.filter(({ operation }) => takesJson(operation)).length)
    const example = bodies.find(body => 'messages' in body)
    t.equal(ChatRequest.safeParse(example).success, true)
    for (const declared of operations) {
      const text = section(declared.id)
      const [, sent] = / -d &#39;(.*)&#39;<\/pre>/.exec(text) ?? []
      if (sent === undefined) continue
      const inPath = [...declared.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'x'])
      const input = { ...Object.fromEntries(inPath), ...JSON.parse(sent.replaceAll('&quot;', '"')) }
      // a text may have to look like something that only its operation knows
      const faults = declared.input.safeParse(input).error?.issues.map(({ code }) => code) ?? []
      t.notOk(faults.includes('invalid_type') || faults.includes('unrecognized_keys'), sent)
    }
  })

  t.test('escapes HTML tags in the content', async t => {
    const text = "\"><img src=x onerror='x'>"
    const path = Object.values(document.paths)[0] ?? {}
    const hostile = docsPage({
      ...document,
      tags: [{ name: text }],
      servers: [{ url: text }],
      paths: {
        [text]: Object.fromEntries(
          Object.entries(path).map(([method, operation]) => [
            method,
            { ...operation, operationId: text, summary: text, tags: [text] },
          ]),
        ),
      },
    })
    t.match(hostile, '&lt;img')
    t.notMatch(hostile, /<img|onerror='/)
  })
})

t.test('the Host header is not published', async t => {
  const other = await appWith({ config: config({ http: { allowed_hosts: ['other.example'] } }) })
  t.teardown(() => other.close())
  const headers = { host: 'other.example' }
  for (const url of ['/v1/openapi.json', '/.well-known/agent.json']) {
    const response = await other.inject({ url, headers })
    t.equal(response.statusCode, 200)
    t.notMatch(response.body, 'other.example')
  }
})

t.test('published addresses follow from the listener unless they are configured', async t => {
  for (const [settings, port, expected] of [
    [{}, 7070, { base: 'http://127.0.0.1:7070', mcp: 'http://127.0.0.1:7070/mcp/' }],
    [{ http: { host: '::1' } }, 1, { base: 'http://[::1]:1', a2a: 'http://[::1]:1' }],
    [
      { public: { base_url: 'https://a.example/', a2a_url: 'https://b.example/x/' } },
      1,
      { base: 'https://a.example', a2a: 'https://b.example/x', docs: 'https://a.example/docs' },
    ],
    [
      { public: { mcp_url: 'https://m.example/mcp/', docs_url: 'https://d.example' } },
      5,
      { base: 'http://127.0.0.1:5', mcp: 'https://m.example/mcp/', docs: 'https://d.example' },
    ],
  ] as const)
    t.match(publicUrls(config(settings), port), expected)
})

t.test('exactly the operations and skills that run on a cell take one in the query', async t => {
  const declared = [...operations, ...skills]
    .filter(({ onCell, method, input }) => onCell || (method === 'GET' && 'cell' in input.shape))
    .map(({ id }) => id)
  const takes = described
    .filter(({ operation }) =>
      (operation.parameters ?? []).some(one => one.name === 'cell' && one.in === 'query'),
    )
    .map(({ operation }) => operation.operationId)
  t.ok(declared.includes('mqtt-publish') && declared.includes('mqtt-bridge'))
  t.strictSame(takes.sort(), declared.sort())
})

t.test(
  'an operation names the reasons of its errors, the kind of its answer and the next step',
  t => {
    const find = (id: string) =>
      described.find(({ operation }) => operation.operationId === id)?.operation as unknown as {
        'x-shoal-reasons'?: string[]
        'x-shoal-next'?: string
        'x-shoal-answer'?: object
        'x-shoal-emergency'?: boolean
      }
    t.strictSame(find('models-add')['x-shoal-reasons'], [
      'name_unknown',
      'name_ambiguous',
      'role_required',
      'model_exists',
      'egress_off',
    ])
    t.match(find('keys-reveal')['x-shoal-reasons']?.join(), /approval_pending.*key_revealed/)
    t.equal(
      find('tokens-create')['x-shoal-next'],
      'on the new cell: shoald join {url} --token {secret}',
    )
    t.strictSame(find('device-command')['x-shoal-answer'], {
      kind: 'device_command',
      field: 'outcome',
    })
    t.match(find('devices-stop'), { 'x-shoal-emergency': true })
    t.end()
  },
)

t.test('an error carries its reason and what comes next on REST, A2A and MCP', async t => {
  const onward = { reason: 'approval_pending', next: 'shoal gates approve gate_1' } as const
  const pending = new ShoalError('forbidden', 'request gate_1 is pending', onward)
  t.match(errorBody(pending), { error: { code: 'forbidden', param: null, ...onward } })
  t.match(rpcError(failureOf(pending)), { data: [{ reason: 'FORBIDDEN', metadata: onward }] })
  t.match(protocolError(pending), { data: { code: 'forbidden', ...onward } })
  const [content] = toErrorResult(pending).content
  t.match(JSON.parse((content as { text: string }).text), { error: onward })
  const plain = new ShoalError('forbidden', 'x')
  t.strictSame(Object.keys(errorBody(plain).error), ['message', 'type', 'param', 'code'])
  t.notOk(JSON.stringify(rpcError(failureOf(plain))).includes('metadata'))
})
