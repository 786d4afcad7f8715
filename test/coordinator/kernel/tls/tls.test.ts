import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type ServerOptions } from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { keepServerIdentity } from '../../../../coordinator/kernel/tls/keep.ts'
import {
  loadOwnCertificate,
  type ServerIdentity,
} from '../../../../coordinator/kernel/tls/own-certificate.ts'
import {
  listServerNames,
  loadServerIdentity,
} from '../../../../coordinator/kernel/tls/server-identity.ts'
import { headerCheck } from '../../../../coordinator/surfaces/http/safety.ts'
import { closeWithLinger } from '../../../../shared/lingering-close.ts'
import { statusAfterWriting } from '../../../support/app.ts'
import { certificatePlace, memorySecrets, secretsOf } from '../../../support/secrets.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

const DAY = 86_400_000

/** A listening server with this identity; answers its port. */
const listenWith = async (t: Test, identity: ServerOptions): Promise<number> => {
  const server = createServer(identity).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => {})
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** The code of the error with which a TLS handshake fails; undefined when it succeeds. */
const shakeHands = async (port: number, ca: string | undefined, servername: string) => {
  const trusted = ca === undefined ? {} : { ca }
  const socket = connect({ port, host: '127.0.0.1', servername, ...trusted })
  const [error] = await Promise.race([once(socket, 'secureConnect'), once(socket, 'error')]).catch(
    error => [error],
  )
  socket.destroy()
  return (error as NodeJS.ErrnoException | undefined)?.code
}

/** State that an earlier version with its own X.509 encoder wrote on 2025-01-01. */
const OLD_STATE = join(import.meta.dirname, 'state')
const OLD_FINGERPRINT = 'ZsUjDH2fLVAMka3AsyXp7o4JiCvekXywtFv5TE5FBuo'

const isLibraryLoaded = (): boolean =>
  Object.keys(createRequire(import.meta.url).cache).some(path => path.includes('@peculiar/x509'))

t.test('a state folder of an earlier version keeps its authority', async t => {
  const stateDir = await temporaryFolder(t)
  cpSync(OLD_STATE, join(stateDir, 'tls'), { recursive: true })
  const folder = { stateDir, secrets: await secretsOf(await temporaryStore(t), stateDir) }
  const names = ['a.example', '10.0.0.9']
  const kept = await loadOwnCertificate(folder, names, Date.UTC(2025, 0, 2))
  const ca = readFileSync(kept.caFile ?? '', 'utf8')
  t.equal(kept.key + kept.cert, readFileSync(join(OLD_STATE, 'server.pem'), 'utf8') + ca)
  t.notOk(isLibraryLoaded(), 'the X.509 library is loaded only to issue a certificate')

  const renewed = await loadOwnCertificate(folder, names)
  t.ok(isLibraryLoaded())
  t.not(renewed.cert, kept.cert)
  t.strictSame([kept.fingerprint, renewed.fingerprint], [OLD_FINGERPRINT, OLD_FINGERPRINT])
  t.equal(await shakeHands(await listenWith(t, renewed), ca, 'a.example'), undefined)
})

t.test('an issued certificate carries the requested addresses and dates', async t => {
  const { issueAuthority, issueServerCertificate } = await import(
    '../../../../coordinator/kernel/tls/certificate.ts'
  )
  const authority = await issueAuthority('shoal', { from: Date.UTC(2026), to: Date.UTC(2046) })
  const addresses = [
    ['10.1.2.255', '10.1.2.255'],
    ['::1', '0:0:0:0:0:0:0:1'],
    ['fd00:1:2:3:4:5:6:7', 'FD00:1:2:3:4:5:6:7'],
    ['fe80::1%eth0', 'FE80:0:0:0:0:0:0:1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['64:ff9b::192.0.2.33', '64:FF9B:0:0:0:0:C000:221'],
  ] as const
  const life = { from: Date.UTC(2049, 11, 31, 23, 59, 59), to: Date.UTC(2050, 0, 1) }
  const { certificate } = await issueServerCertificate(
    authority,
    addresses.map(([address]) => address),
    life,
  )
  t.equal(
    certificate.subjectAltName,
    addresses.map(([, encoded]) => `IP Address:${encoded}`).join(', '),
  )
  t.strictSame(
    [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)],
    [life.from, life.to],
  )
  t.ok(BigInt(`0x${certificate.serialNumber}`) > 0n)
})

t.test('a certificate', async t => {
  const { issueAuthority, issueServerCertificate } = await import(
    '../../../../coordinator/kernel/tls/certificate.ts'
  )
  const life = { from: Date.now() - DAY, to: Date.now() + DAY }
  const authority = await issueAuthority('shoal', life)
  const other = await issueAuthority('shoal', life)
  const names = ['shoal.example', '10.0.0.7', '2001:db8::7']
  const { certificate: issued, key } = await issueServerCertificate(authority, names, life)
  const { certificate: issuer } = authority

  t.test('is valid for its names only', async t => {
    t.equal(issued.checkHost('shoal.example'), 'shoal.example')
    t.equal(issued.checkIP('10.0.0.7'), '10.0.0.7')
    t.equal(issued.checkHost('other.example'), undefined)
    t.equal(issued.subjectAltName?.includes('2001:DB8'), true)
    t.ok(issued.checkIssued(issuer) && issued.verify(issuer.publicKey))
    t.notOk(issued.ca)
    t.ok(issuer.ca)
  })

  t.test('carries a refusal to a client that reads nothing before its body is sent', async t => {
    const server = createServer(
      { key: key.export({ type: 'pkcs8', format: 'pem' }), cert: issued.toString() },
      (_request, response) => response.writeHead(413, { connection: 'close' }).end(),
    ).listen(0, '127.0.0.1')
    closeWithLinger(server)
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const status = await statusAfterWriting(socket, ['POST / HTTP/1.1', 'host: a'])
    t.equal(status, 'HTTP/1.1 413 Payload Too Large')
  })

  t.test('is trusted only by a client that knows the authority', async t => {
    const port = await listenWith(t, {
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      cert: issued.toString() + issuer.toString(),
    })
    const ca = issuer.toString()
    t.equal(await shakeHands(port, ca, 'shoal.example'), undefined)
    t.equal(await shakeHands(port, ca, 'other.example'), 'ERR_TLS_CERT_ALTNAME_INVALID')
    t.match(await shakeHands(port, undefined, 'shoal.example'), /SELF_SIGNED|UNABLE/)
    t.ok(await shakeHands(port, other.certificate.toString(), 'shoal.example'))
  })
})

t.test("the coordinator's own certificate", async t => {
  t.test('is issued once and readable only by its owner', async t => {
    const folder = await certificatePlace(t)
    const first = await loadOwnCertificate(folder, ['a.example'])
    t.strictSame(await loadOwnCertificate(folder, ['a.example']), first)
    t.strictSame(readdirSync(join(folder.stateDir, 'tls')).toSorted(), ['ca.crt', 'server.pem'])
    for (const name of ['server.pem', 'ca.crt'])
      t.equal(statSync(join(folder.stateDir, 'tls', name)).mode & 0o777, 0o600, name)
    t.equal(new X509Certificate(readFileSync(first.caFile ?? '')).ca, true)
  })

  t.test('is renewed before it expires, for other names, and when it is damaged', async t => {
    const folder = await certificatePlace(t)
    const now = Date.now()
    const first = await loadOwnCertificate(folder, ['a.example'], now)
    t.equal((await loadOwnCertificate(folder, ['a.example'], now + 59 * DAY)).cert, first.cert)
    const later = await loadOwnCertificate(folder, ['a.example'], now + 61 * DAY)
    t.not(later.cert, first.cert)
    const renamed = await loadOwnCertificate(folder, ['a.example', '10.0.0.9'], now + 61 * DAY)
    t.not(renamed.cert, later.cert)
    writeFileSync(join(folder.stateDir, 'tls', 'server.pem'), 'rubbish')
    const mended = await loadOwnCertificate(folder, ['a.example', '10.0.0.9'], now + 61 * DAY)
    t.not(mended.cert, renamed.cert)
    const mapped = ['::ffff:10.0.0.9']
    const both = await loadOwnCertificate(folder, mapped, now)
    t.equal(
      (await loadOwnCertificate(folder, mapped, now)).cert,
      both.cert,
      'a mapped address is good',
    )
    for (const { fingerprint } of [later, renamed, mended]) t.equal(fingerprint, first.fingerprint)
  })

  t.test('a damaged authority is an error because cells have pinned it', async t => {
    const { stateDir } = await certificatePlace(t)
    const secrets = { ensure: async () => 'rubbish' }
    await t.rejects(loadOwnCertificate({ stateDir, secrets }, ['a.example']), {
      code: 'store_unavailable',
    })
  })
})

t.test('a renewed certificate is presented to new connections', async t => {
  const folder = await certificatePlace(t)
  const first = await loadOwnCertificate(folder, ['localhost'], Date.now() - 61 * DAY)
  const server = createServer({ cert: first.cert, key: first.key }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const fetchSerial = async (): Promise<string> => {
    const ca = readFileSync(first.caFile ?? '')
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  let answer: () => Promise<ServerIdentity | undefined> = async () => first
  const logger = { info: () => {}, error: () => {} }
  const look = keepServerIdentity({ server, shown: first, identify: () => answer(), logger })
  const before = await fetchSerial()
  await look()
  t.equal(await fetchSerial(), before)
  answer = () => Promise.reject(new Error('the disk is full'))
  await look()
  t.equal(await fetchSerial(), before, 'a failure changes nothing')
  answer = () => loadOwnCertificate(folder, ['localhost'])
  await look()
  t.not(await fetchSerial(), before)
})

t.test('the certificate that the listener presents', async t => {
  const config = (http: object, more: object = {}) => CoordinatorConfig.parse({ http, ...more })

  t.test('is absent on loopback', async t => {
    t.equal(await loadServerIdentity(config({}), memorySecrets()), undefined)
    t.equal(await loadServerIdentity(config({ host: '::1' }), memorySecrets()), undefined)
  })

  t.test('is its own elsewhere, for every name it has', async t => {
    const state_dir = await temporaryFolder(t)
    const wide = config(
      { host: '0.0.0.0', allowed_hosts: ['Fleet.local'] },
      { state_dir, public: { base_url: 'https://shoal.example/x' } },
    )
    const names = listServerNames(wide)
    for (const name of ['shoal.example', 'fleet.local', 'localhost', '127.0.0.1', '::1'])
      t.ok(names.includes(name), name)
    t.notOk(names.includes('0.0.0.0'))
    const shown = await loadServerIdentity(wide, memorySecrets())
    t.equal(new X509Certificate(shown?.cert ?? '').checkHost('shoal.example'), 'shoal.example')
    t.equal(new X509Certificate(shown?.cert ?? '').checkIP('127.0.0.1'), '127.0.0.1')
  })

  t.test('requires both files or none', async t => {
    t.throws(() => config({ tls_cert_file: 'x' }))
    const files = config({
      host: '10.0.0.1',
      tls_cert_file: '/no/c.pem',
      tls_key_file: '/no/k.pem',
    })
    await t.rejects(loadServerIdentity(files, memorySecrets()), {
      code: 'config_invalid',
      message: /no.c\.pem/,
    })
  })
})

t.test("Host may be every name in the coordinator's certificate", async t => {
  const config = CoordinatorConfig.parse({
    http: { host: '::', allowed_hosts: ['Fleet.local', 'fd00::9'] },
    public: { base_url: 'https://shoal.example' },
  })
  const check = headerCheck(config)
  for (const name of listServerNames(config)) {
    const host = name.includes(':') ? `[${name}]` : name
    const request = {
      httpVersionMajor: 1,
      headers: { host },
      rawHeaders: ['Host', host],
      socket: {},
    } as never
    t.doesNotThrow(() => check(request), host)
  }
  t.ok(listServerNames(config).includes(hostname().toLowerCase()))
})

t.test('Host may be the address that the request came to, and no other address', async t => {
  const check = headerCheck(CoordinatorConfig.parse({ http: { host: '0.0.0.0' } }))
  const request = (host: string, localAddress: string) =>
    ({
      httpVersionMajor: 1,
      headers: { host },
      rawHeaders: ['Host', host],
      socket: { localAddress },
    }) as never
  for (const [host, address, allowed] of [
    ['10.0.0.5:7070', '::ffff:10.0.0.5', true],
    ['10.0.0.5', '10.0.0.5', true],
    ['[fd00::5]:7070', 'fd00::5', true],
    ['10.0.0.6:7070', '10.0.0.5', false],
    ['evil.example:7070', '10.0.0.5', false],
    ['', '', false],
  ] as const) {
    const judge = () => check(request(host, address))
    if (allowed) t.doesNotThrow(judge, host)
    else t.throws(judge, { code: 'host_not_allowed' }, host)
  }
})
