import 'reflect-metadata'
import { KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  X509Certificate as IssuerCertificate,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { canonicalAddress } from './address.ts'

/*
 * X.509 certificates (RFC 5280) with P-256 keys, signed with ECDSA and SHA-256. Loading the library
 * takes about 70 ms and 20 MB, so this module is imported only when a certificate is issued.
 */

export interface CertificateWithKey {
  certificate: X509Certificate
  key: KeyObject
}

/** Unix time in milliseconds. */
export interface Validity {
  from: number
  to: number
}

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const

/** Upper bound of a common name in characters (RFC 5280, appendix A.1). */
const MAX_COMMON_NAME = 64

/** Issues the self-signed certificate of an authority that signs server certificates only. */
export const issueAuthority = async (
  name: string,
  validity: Validity,
): Promise<CertificateWithKey> => {
  const { publicKey, privateKey } = await generateKeys()
  const issued = await X509CertificateGenerator.createSelfSigned({
    ...datesOf(validity),
    name: commonName(name),
    keys: { publicKey, privateKey },
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  })
  return { certificate: nodeCertificate(issued), key: KeyObject.from(privateKey) }
}

/** Issues a certificate for a server that is reached under these names and addresses. */
export const issueServerCertificate = async (
  authority: CertificateWithKey,
  names: readonly string[],
  validity: Validity,
): Promise<CertificateWithKey> => {
  const { publicKey, privateKey } = await generateKeys()
  const issuer = new IssuerCertificate(authority.certificate.raw)
  const issued = await X509CertificateGenerator.create({
    ...datesOf(validity),
    // the name as encoded in the authority's certificate: some clients compare the bytes
    issuer: issuer.subjectName,
    subject: commonName(names[0] ?? 'shoal'),
    publicKey,
    signingKey: authority.key.toCryptoKey(KEY_ALGORITHM, false, ['sign']),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(names.map(generalName)),
      await SubjectKeyIdentifierExtension.create(publicKey),
      new AuthorityKeyIdentifierExtension(await keyIdOf(issuer)),
    ],
  })
  return { certificate: nodeCertificate(issued), key: KeyObject.from(privateKey) }
}

const generateKeys = () => crypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify'])

const datesOf = ({ from, to }: Validity) => ({ notBefore: new Date(from), notAfter: new Date(to) })

const nodeCertificate = ({ rawData }: IssuerCertificate): X509Certificate =>
  new X509Certificate(Buffer.from(rawData))

const commonName = (text: string): Name =>
  new Name([{ CN: [{ utf8String: text.slice(0, MAX_COMMON_NAME) }] }])

const generalName = (name: string): JsonGeneralName =>
  isIP(name) === 0 ? { type: 'dns', value: name } : { type: 'ip', value: canonicalAddress(name) }

/** The identifier in the issuer's certificate: one that differs breaks the chain (RFC 5280, 4.2.1.1). */
const keyIdOf = async (issuer: IssuerCertificate): Promise<string> => {
  const { keyId } =
    issuer.getExtension(SubjectKeyIdentifierExtension) ??
    (await SubjectKeyIdentifierExtension.create(issuer.publicKey))
  return keyId
}
