import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

type Answer = [status: number, body: object]

/** A request that a stand-in was sent. */
interface SentRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: unknown
}

/** Servers on loopback in the shape of Keycloak, a Matrix homeserver and a repair hook. */
export const startStandIns = async (t: Pick<Test, 'teardown'>) => {
  const keycloak = { isReady: true, realms: ['platform', 'operators', 'customers', 'partners'] }
  const got: SentRequest[] = []
  const answer = (path: string): Answer => {
    if (path.startsWith('/_matrix/')) return matrixAnswer(path)
    if (path === '/repair' || path === '/notice') return [202, {}]
    return keycloakAnswer(path, keycloak)
  }
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request
    const text = Buffer.concat(await request.toArray()).toString()
    got.push({ method, path, headers, body: text === '' ? undefined : JSON.parse(text) })
    const [status, body] = answer(path)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise(done => server.close(done)))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, keycloak, got }
}

/** Keycloak 26: /health/ready (SmallRye Health) and the public addresses of a realm. */
const keycloakAnswer = (
  path: string,
  { isReady, realms }: { isReady: boolean; realms: readonly string[] },
): Answer => {
  if (path === '/health/ready')
    return isReady
      ? [200, { status: 'UP', checks: [{ name: 'Keycloak database connections', status: 'UP' }] }]
      : [503, { status: 'DOWN', checks: [] }]
  const [, name = '', rest = ''] = /^\/realms\/([\w-]+)(.*)$/.exec(path) ?? []
  if (!realms.includes(name)) return [404, { error: 'Realm does not exist' }]
  if (rest === '') return [200, { realm: name, public_key: 'MIIB', 'token-service': '/' }]
  if (rest === '/.well-known/openid-configuration')
    return [200, { issuer: `https://sso.acme-corp.com/realms/${name}` }]
  return [200, { keys: [{ kid: 'a', kty: 'RSA', alg: 'RS256', use: 'sig' }] }]
}

/** Synapse: the client and federation APIs of Matrix 1.11. */
const matrixAnswer = (path: string): Answer => {
  if (path === '/_matrix/client/versions') return [200, { versions: ['v1.10', 'v1.11'] }]
  if (path === '/_matrix/client/v3/login') return [200, { flows: [{ type: 'm.login.sso' }] }]
  if (path === '/_matrix/federation/v1/version')
    return [200, { server: { name: 'Synapse', version: '1.118.0' } }]
  return [200, { event_id: '$sent' }]
}
