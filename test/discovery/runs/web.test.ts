import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net'
import t, { type Test } from 'tap'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../coordinator/kernel/tls/certificate.ts'
import fingerprintModule from '../../../discovery/modules/network/http-fingerprint.ts'
import certificateModule from '../../../discovery/modules/osint/tls-cert-check.ts'
import { hashFavicon, murmurHash3 } from '../../../discovery/runs/network/http/favicon-hash.ts'
import { PATH_RULES } from '../../../discovery/runs/network/http/path-rules.ts'
import { PRODUCT_RULES } from '../../../discovery/runs/network/http/product-rules.ts'
import fingerprintRun from '../../../discovery/runs/network/http-fingerprint.ts'
import { parseEndpoint } from '../../../discovery/runs/osint/tls/parse-endpoint.ts'
import certificateRun from '../../../discovery/runs/osint/tls-cert-check.ts'
import { createScanContext, listRows } from '../../support/scan-context.ts'

const DAY_MS = 86_400_000

const listen = async (t: Test, server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    if ('closeAllConnections' in server)
      (server as { closeAllConnections(): void }).closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const issue = async (names: string[], from: number, to: number) => {
  const now = Date.now()
  const authority = await issueAuthority('test', {
    from: now - 400 * DAY_MS,
    to: now + 400 * DAY_MS,
  })
  const { certificate, key } = await issueServerCertificate(authority, names, {
    from: now + from * DAY_MS,
    to: now + to * DAY_MS + 60_000,
  })
  return {
    cert: `${certificate}${authority.certificate}`,
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

const check = async (domains: string[], entries: { target: string }[] = [], config?: object) =>
  listRows(certificateModule, certificateRun({ domains }, createScanContext({ entries, config })))

t.test('tls-cert-check', async t => {
  const answer: RequestListener = (_, response) => response.end()

  t.test('reads chain, names, key, protocol and days of a certificate', async t => {
    const server = createHttps(await issue(['nas.lan', '127.0.0.1'], -1, 90), answer)
    server.on('OCSPRequest', (_certificate, _issuer, reply) => reply(null, Buffer.from('stapled')))
    const port = await listen(t, server)
    const [row] = await check([`127.0.0.1:${port}`])
    t.match(row, {
      host: '127.0.0.1',
      port,
      reachable: true,
      grade: 'invalid',
      tls: {
        protocol: 'TLSv1.3',
        alpn: 'http/1.1',
        subject_cn: 'nas.lan',
        san: ['nas.lan', '127.0.0.1'],
        issuer_cn: 'test',
        days_left: 90,
        expired: false,
        self_signed: false,
        hostname_match: true,
        chain_valid: false,
        chain_length: 2,
        key_type: 'ec',
        key_bits: 256,
        signature_algorithm: 'ecdsa-with-SHA256',
        must_staple: false,
        ocsp_stapled: true,
      },
    })
  })

  t.test('tells an expired certificate and a name that does not match', async t => {
    const expired = await listen(t, createHttps(await issue(['127.0.0.1'], -9, -2), answer))
    const foreign = await listen(t, createHttps(await issue(['10.0.0.1'], -9, 90), answer))
    const rows = await check([`127.0.0.1:${expired}`, `127.0.0.1:${foreign}`])
    const byPort = new Map(rows.map(row => [row.port, row]))
    t.match(byPort.get(expired), { grade: 'expired', tls: { expired: true, days_left: -2 } })
    t.match(byPort.get(foreign), { grade: 'invalid', tls: { hostname_match: false } })
  })

  t.test('gives a row with the reason for what is outside the scope or silent', async t => {
    const closed = createTcp()
    const port = await listen(t, closed)
    closed.close()
    await once(closed, 'close')
    const rows = await check(['192.0.2.1', `127.0.0.1:${port}`])
    const grades = new Map(rows.map(({ domain, grade }) => [domain, grade]))
    t.equal(grades.get('192.0.2.1'), 'out_of_scope')
    t.equal(grades.get(`127.0.0.1:${port}`), 'unreachable')
    t.match(rows.find(({ domain }) => domain === '192.0.2.1')?.error, /shoal discover scope add/)
  })

  t.test('reports to the registry the key of a server, but not a shared one', async t => {
    const own = await listen(t, createHttps(await issue(['nas.lan'], -1, 90), answer))
    const shared = await listen(t, createHttps(await issue(['*.lan'], -1, 90), answer))
    const rows = await check([`127.0.0.1:${own}`, `127.0.0.1:${shared}`])
    const kindsOf = (port: number) =>
      certificateModule
        .observe?.({ ...rows.find(row => row.port === port) }, { cellId: 'cell-1' })
        .flatMap(({ keys }) => keys.map(({ kind }) => kind))
    t.strictSame(kindsOf(own), ['shoal_cell', 'tls_spki'])
    t.strictSame(kindsOf(shared), ['shoal_cell'])
  })

  t.test('without domains it checks those of the configuration', async t => {
    const context = createScanContext({ config: { domains: ['192.0.2.7'] } })
    t.equal((await listRows(certificateModule, certificateRun({}, context)))[0]?.host, '192.0.2.7')
    await t.rejects(listRows(certificateModule, certificateRun({}, createScanContext({}))), {
      code: 'invalid_request',
    })
  })

  t.test('a server without TLS is reported as such', async t => {
    const port = await listen(
      t,
      createHttp((_, response) => response.end()),
    )
    t.match(await check([`127.0.0.1:${port}`]), [
      { grade: 'unreachable', error: 'the server does not speak TLS' },
    ])
  })
})

t.test('an endpoint is a host, a host with a port, or an address', t => {
  for (const [text, host, port] of [
    ['example.org', 'example.org', 443],
    ['NAS.lan:8443', 'nas.lan', 8443],
    ['fd00::1', 'fd00::1', 443],
    ['[fd00::1]:8443', 'fd00::1', 8443],
    ['10.0.0.1:99999', '10.0.0.1', 443],
  ] as const)
    t.match(parseEndpoint(text), { domain: text, host, port })
  t.end()
})

t.test('http-fingerprint', async t => {
  const identify = async (port: number, host = '127.0.0.1') => {
    const context = createScanContext({})
    return listRows(fingerprintModule, fingerprintRun({ host, port }, context))
  }

  t.test('reads title, headers, favicon and products, and the names of cookies only', async t => {
    const icon = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7])
    const server = createHttp((request, response) => {
      if (request.url === '/icon.png') return response.end(icon)
      if (request.url !== '/') return response.writeHead(404).end()
      response.setHeader('Server', 'nginx/1.22.1')
      response.setHeader('Set-Cookie', ['_gitlab_session=secret-value; Path=/'])
      response.setHeader('X-Frame-Options', 'DENY')
      response.setHeader('Content-Type', 'text/html')
      return response.end(
        '<html><title>Sign in &amp; go</title><link rel="icon" href="/icon.png"></html>',
      )
    })
    const [row] = await identify(await listen(t, server))
    t.match(row, {
      scheme: 'http',
      status: 200,
      title: 'Sign in & go',
      server: 'nginx/1.22.1',
      cookies: ['_gitlab_session'],
      favicon: { mmh3: -1_857_847_074, bytes: 8 },
      security_headers: { x_frame_options: true, hsts: false },
      tls: null,
    })
    t.strictSame(
      row?.products.map(({ name, version, cpe }) => [name, version, cpe]),
      [
        ['nginx', '1.22.1', 'cpe:2.3:a:f5:nginx:1.22.1:*:*:*:*:*:*:*'],
        ['gitlab', null, 'cpe:2.3:a:gitlab:gitlab:*:*:*:*:*:*:*:*'],
      ],
    )
    t.notMatch(JSON.stringify(row), /secret-value/)
  })

  t.test('finds a product by a well-known path', async t => {
    const server = createHttp((request, response) => {
      if (request.url !== '/shelly') return response.end('<title>x</title>')
      return response.end('{"name":null,"id":"a","mac":"A8032","gen":2,"ver":"1.4.4"}')
    })
    const [row] = await identify(await listen(t, server))
    t.match(row?.products, [{ name: 'shelly', version: '1.4.4', evidence: 'path' }])
  })

  t.test('follows a redirect on its host and never to another one', async t => {
    const asked: string[] = []
    const other = createHttp((_, response) => response.end())
    other.on('connection', () => asked.push('other'))
    const otherPort = await listen(t, other)
    const server = createHttp((request, response) => {
      const to = request.url === '/' ? '/login' : `http://localhost:${otherPort}/`
      response.writeHead(302, { location: to, server: 'caddy' }).end()
    })
    const port = await listen(t, server)
    const [row] = await identify(port)
    t.match(row, { status: 302, final_url: `http://127.0.0.1:${port}/login` })
    t.strictSame(asked, [])
  })

  t.test('stops reading a page without end, and gives up on a port that says nothing', async t => {
    let sent = 0
    const endless = createHttp((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536
      }
      response.on('drain', more)
      more()
    })
    const [row] = await identify(await listen(t, endless))
    t.equal(row?.status, 200)
    t.ok(sent < 32 * 1024 * 1024, `${sent} bytes`)
    const silent = createTcp()
    const warnings: string[] = []
    const context = createScanContext({ onWarning: (_, message) => warnings.push(message) })
    const port = await listen(t, silent)
    silent.on('connection', socket => socket.on('error', () => {}))
    const rows = fingerprintRun({ host: '127.0.0.1', port }, context)
    t.strictSame(await listRows(fingerprintModule, rows), [])
    t.match(warnings, [/127\.0\.0\.1 gave no web page/])
  })

  t.test('takes the start of a page that never ends', async t => {
    const server = createHttp((_, response) => response.write('<title>Events</title>'))
    t.match(await identify(await listen(t, server)), [{ status: 200, title: 'Events' }])
  })

  t.test('decides the scheme by a handshake and shows the certificate', async t => {
    const tls = await issue(['127.0.0.1'], -1, 90)
    const server = createHttps(tls, (_, response) => response.writeHead(401).end())
    const [row] = await identify(await listen(t, server))
    t.match(row, { scheme: 'https', status: 401, tls: { hostname_match: true } })
    const [sighting] = fingerprintModule.observe?.({ ...row }, { cellId: 'cell-1' }) ?? []
    t.match(sighting?.facts, {
      services: [{ name: 'http', is_encrypted: true, is_open: false }],
      certificate: { is_name_match: true },
    })
  })

  t.test(
    'identifies the hosts of the configuration; one outside the scope fails alone',
    async t => {
      const port = await listen(
        t,
        createHttp((_, response) => response.end()),
      )
      const warnings: string[] = []
      const context = createScanContext({
        config: { hosts: [{ host: '127.0.0.1', port }, { host: '192.0.2.1' }] },
        onWarning: code => warnings.push(code),
      })
      t.match(await listRows(fingerprintModule, fingerprintRun({}, context)), [{ port }])
      t.strictSame(warnings, ['out_of_scope'])
    },
  )

  t.test('refuses a host outside the scope', async t => {
    await t.rejects(identify(80, '192.0.2.1'), { code: 'scope_denied' })
  })
})

t.test('hashes of favicons agree with published vectors', t => {
  t.equal(murmurHash3(Buffer.from('foo')), -156_908_512)
  t.equal(murmurHash3(Buffer.alloc(0)), 0)
  t.equal(hashFavicon(Buffer.from([0, 1, 2, 3, 4, 5, 6, 7])).mmh3, -1_857_847_074)
  t.end()
})

t.test('patterns of products look at one place and take no long time', t => {
  const long = 'a"mac":"gen"<esp-app version='.repeat(10_000)
  for (const { pattern } of [...PRODUCT_RULES, ...PATH_RULES]) t.equal(pattern.global, false)
  const startedAt = performance.now()
  for (const { pattern } of [...PRODUCT_RULES, ...PATH_RULES]) pattern.exec(long)
  t.ok(performance.now() - startedAt < 5000)
  t.end()
})
