import {
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP } from 'node:net'
import {
  addressBytes,
  bits,
  integer,
  objectId,
  octets,
  plain,
  sequence,
  setOf,
  tagged,
  time,
  utf8,
  yes,
} from './der.ts'

/* X.509 certificates (RFC 5280) with P-256 keys, signed with ECDSA and SHA-256. */

export interface Certified {
  key: KeyObject
  /** DER. */
  certificate: Buffer
}

export interface Authority extends Certified {
  name: string
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
}

/** Bits of RFC 5280 4.2.1.3, counted from the left: keyCertSign and cRLSign; digitalSignature. */
const SIGNS_CERTIFICATES = bits(Buffer.from([0b0000_0110]), 1)
const SIGNS_DATA = bits(Buffer.from([0b1000_0000]), 7)

export interface Life {
  /** Unix milliseconds. */
  from: number
  to: number
}

export const newAuthority = (name: string, life: Life): Authority => {
  const key = newKey()
  const extensions = [
    extension(OID.basicConstraints, sequence(yes(), integer(Buffer.from([0]))), true),
    extension(OID.keyUsage, SIGNS_CERTIFICATES, true),
    extension(OID.subjectKeyId, octets(keyId(key))),
  ]
  return { name, key, certificate: issue({ issuer: { name, key }, name, key, life, extensions }) }
}

/** A server's certificate for all of these names and addresses. */
export const certify = (authority: Authority, names: readonly string[], life: Life): Certified => {
  const key = newKey()
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, SIGNS_DATA, true),
    extension(OID.extendedKeyUsage, sequence(objectId(OID.serverAuth))),
    extension(OID.subjectAltName, sequence(...names.map(generalName))),
    extension(OID.subjectKeyId, octets(keyId(key))),
    extension(OID.authorityKeyId, sequence(plain(0, keyId(authority.key)))),
  ]
  const name = names[0] ?? 'shoal'
  return { key, certificate: issue({ issuer: authority, name, key, life, extensions }) }
}

export const pemOf = (certificate: Buffer): string => {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const publicBytes = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: 'spki', format: 'der' })

/** RFC 7093 section 2, method 4: a digest of the public key with its algorithm. */
const keyId = (key: KeyObject): Buffer => hash('sha256', publicBytes(key), 'buffer').subarray(0, 20)

const generalName = (name: string): Buffer =>
  isIP(name) === 0 ? plain(2, Buffer.from(name, 'ascii')) : plain(7, addressBytes(name))

const extension = (id: string, content: Buffer, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [yes()] : []), octets(content))

const nameOf = (text: string): Buffer =>
  sequence(setOf(sequence(objectId(OID.commonName), utf8(text.slice(0, 64)))))

interface Contents {
  issuer: { name: string; key: KeyObject }
  name: string
  key: KeyObject
  life: Life
  extensions: Buffer[]
}

const issue = ({ issuer, name, key, life, extensions }: Contents): Buffer => {
  const algorithm = sequence(objectId(OID.ecdsaWithSha256))
  const serial = randomBytes(16)
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f)
  const contents = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    nameOf(issuer.name),
    sequence(time(life.from), time(life.to)),
    nameOf(name),
    publicBytes(key),
    tagged(3, sequence(...extensions)),
  )
  return sequence(contents, algorithm, bits(sign('sha256', contents, issuer.key)))
}
