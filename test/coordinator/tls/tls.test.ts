import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { CoordinatorConfig } from '../../../coordinator/config.ts'
import { headerCheck } from '../../../coordinator/http/safety.ts'
import { certify, newAuthority, pemOf } from '../../../coordinator/tls/certificate.ts'
import { addressBytes, integer, objectId, time } from '../../../coordinator/tls/der.ts'
import { keepServerIdentity } from '../../../coordinator/tls/keep.ts'
import { ownCertificate, type ServerIdentity } from '../../../coordinator/tls/own-certificate.ts'
import { namesOf, serverIdentity } from '../../../coordinator/tls/server-identity.ts'
import { temporaryFolder } from '../store/temporary.ts'

const DAY = 86_400_000

t.test('DER', async t => {
  t.equal(objectId('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302')
  t.equal(integer(Buffer.from([0x80])).toString('hex'), '02020080')
  t.equal(
    time(Date.UTC(2049, 11, 31, 23, 59, 59))
      .toString('latin1')
      .slice(2),
    '491231235959Z',
  )
  t.equal(
    time(Date.UTC(2050, 0, 1))
      .toString('latin1')
      .slice(2),
    '20500101000000Z',
  )
  for (const [address, hex] of [
    ['10.1.2.255', '0a0102ff'],
    ['::1', '00000000000000000000000000000001'],
    ['2001:db8::a:1', '20010db80000000000000000000a0001'],
    ['fd00:1:2:3:4:5:6:7', 'fd000001000200030004000500060007'],
    ['fe80::', 'fe800000000000000000000000000000'],
    ['::ffff:10.0.0.1', '0a000001'],
    ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
  ] as const)
    t.equal(addressBytes(address).toString('hex'), hex, address)
})

t.test('a certificate', async t => {
  const life = { from: Date.now() - DAY, to: Date.now() + DAY }
  const authority = newAuthority('shoal', life)
  const names = ['shoal.example', '10.0.0.7', '2001:db8::7']
  const { certificate, key } = certify(authority, names, life)
  const parsed = new X509Certificate(certificate)
  const issuer = new X509Certificate(authority.certificate)

  t.test('is for its names and no other', async t => {
    t.equal(parsed.checkHost('shoal.example'), 'shoal.example')
    t.equal(parsed.checkIP('10.0.0.7'), '10.0.0.7')
    t.equal(parsed.checkHost('other.example'), undefined)
    t.equal(parsed.subjectAltName?.includes('2001:DB8'), true)
    t.ok(parsed.checkIssued(issuer) && parsed.verify(issuer.publicKey))
    t.notOk(parsed.ca)
    t.ok(issuer.ca)
  })

  t.test('convinces a client that knows the authority, and no other', async t => {
    const server = createServer({
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      cert: pemOf(certificate) + pemOf(authority.certificate),
    }).listen(0, '127.0.0.1')
    server.on('tlsClientError', () => {})
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const shake = async (ca: Buffer | undefined, servername: string) => {
      const trusted = ca === undefined ? {} : { ca: pemOf(ca) }
      const socket = connect({ port, host: '127.0.0.1', servername, ...trusted })
      const [error] = await Promise.race([
        once(socket, 'secureConnect'),
        once(socket, 'error'),
      ]).catch(error => [error])
      socket.destroy()
      return (error as NodeJS.ErrnoException | undefined)?.code
    }
    t.equal(await shake(authority.certificate, 'shoal.example'), undefined)
    t.equal(await shake(authority.certificate, 'other.example'), 'ERR_TLS_CERT_ALTNAME_INVALID')
    t.match(await shake(undefined, 'shoal.example'), /SELF_SIGNED|UNABLE/)
    t.ok(await shake(newAuthority('shoal', life).certificate, 'shoal.example'))
  })
})

t.test("the coordinator's own certificate", async t => {
  t.test('is made once and kept, for its owner alone', async t => {
    const folder = await temporaryFolder(t)
    const first = await ownCertificate(folder, ['a.example'])
    t.strictSame(await ownCertificate(folder, ['a.example']), first)
    for (const name of ['authority.pem', 'server.pem', 'ca.crt'])
      t.equal(statSync(join(folder, 'tls', name)).mode & 0o777, 0o600, name)
    t.equal(new X509Certificate(readFileSync(first.caFile ?? '')).ca, true)
  })

  t.test('is made anew before it ends, for other names, or when it is damaged', async t => {
    const folder = await temporaryFolder(t)
    const now = Date.now()
    const first = await ownCertificate(folder, ['a.example'], now)
    t.equal((await ownCertificate(folder, ['a.example'], now + 59 * DAY)).cert, first.cert)
    const later = await ownCertificate(folder, ['a.example'], now + 61 * DAY)
    t.not(later.cert, first.cert)
    const renamed = await ownCertificate(folder, ['a.example', '10.0.0.9'], now + 61 * DAY)
    t.not(renamed.cert, later.cert)
    writeFileSync(join(folder, 'tls', 'server.pem'), 'rubbish')
    const mended = await ownCertificate(folder, ['a.example', '10.0.0.9'], now + 61 * DAY)
    t.not(mended.cert, renamed.cert)
    const mapped = ['::ffff:10.0.0.9']
    const both = await ownCertificate(folder, mapped, now)
    t.equal((await ownCertificate(folder, mapped, now)).cert, both.cert, 'a mapped address is good')
    for (const { fingerprint } of [later, renamed, mended]) t.equal(fingerprint, first.fingerprint)
  })

  t.test('an authority that is damaged is an error: cells have pinned it', async t => {
    const folder = await temporaryFolder(t)
    await ownCertificate(folder, ['a.example'])
    writeFileSync(join(folder, 'tls', 'authority.pem'), 'rubbish')
    await t.rejects(ownCertificate(folder, ['a.example']), { code: 'store_unavailable' })
  })
})

t.test('a renewed certificate is shown to new connections', async t => {
  const folder = await temporaryFolder(t)
  const first = await ownCertificate(folder, ['localhost'], Date.now() - 61 * DAY)
  const server = createServer({ cert: first.cert, key: first.key }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const serial = async (): Promise<string> => {
    const ca = readFileSync(first.caFile ?? '')
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  let look = () => {}
  let answer: () => Promise<ServerIdentity | undefined> = async () => first
  const told = new Promise<void>(info => {
    const logger = { info: () => info(), error: () => {} }
    const repeat = (call: () => void) => {
      look = call
      return () => {}
    }
    keepServerIdentity({ server, shown: first, identify: () => answer(), logger, repeat })
  })
  const before = await serial()
  look()
  t.equal(await serial(), before)
  answer = () => Promise.reject(new Error('the disk is full'))
  look()
  t.equal(await serial(), before, 'a failure changes nothing')
  answer = () => ownCertificate(folder, ['localhost'])
  look()
  await told
  t.not(await serial(), before)
})

t.test('what the listener shows', async t => {
  const config = (http: object, more: object = {}) => CoordinatorConfig.parse({ http, ...more })

  t.test('is nothing on loopback', async t => {
    t.equal(await serverIdentity(config({})), undefined)
    t.equal(await serverIdentity(config({ host: '::1' })), undefined)
  })

  t.test('is its own certificate elsewhere, for every name it has', async t => {
    const state_dir = await temporaryFolder(t)
    const wide = config(
      { host: '0.0.0.0', allowed_hosts: ['Fleet.local'] },
      { state_dir, public: { base_url: 'https://shoal.example/x' } },
    )
    const names = namesOf(wide)
    for (const name of ['shoal.example', 'fleet.local', 'localhost', '127.0.0.1', '::1'])
      t.ok(names.includes(name), name)
    t.notOk(names.includes('0.0.0.0'))
    const shown = await serverIdentity(wide)
    t.equal(new X509Certificate(shown?.cert ?? '').checkHost('shoal.example'), 'shoal.example')
    t.equal(new X509Certificate(shown?.cert ?? '').checkIP('127.0.0.1'), '127.0.0.1')
  })

  t.test('needs both files or none', async t => {
    t.throws(() => config({ tls_cert_file: 'x' }))
    const files = config({
      host: '10.0.0.1',
      tls_cert_file: '/no/c.pem',
      tls_key_file: '/no/k.pem',
    })
    await t.rejects(serverIdentity(files), { code: 'config_invalid', message: /no.c\.pem/ })
  })
})

t.test('Host may be every name that our own certificate is for', async t => {
  const config = CoordinatorConfig.parse({
    http: { host: '::', allowed_hosts: ['Fleet.local', 'fd00::9'] },
    public: { base_url: 'https://shoal.example' },
  })
  const check = headerCheck(config)
  for (const name of namesOf(config)) {
    const host = name.includes(':') ? `[${name}]` : name
    const request = { headers: { host }, rawHeaders: ['Host', host], socket: {} } as never
    t.doesNotThrow(() => check(request), host)
  }
  t.ok(namesOf(config).includes(hostname().toLowerCase()))
})

t.test('Host may be the address that a request came to, and no other address', async t => {
  const check = headerCheck(CoordinatorConfig.parse({ http: { host: '0.0.0.0' } }))
  const request = (host: string, localAddress: string) =>
    ({ headers: { host }, rawHeaders: ['Host', host], socket: { localAddress } }) as never
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
