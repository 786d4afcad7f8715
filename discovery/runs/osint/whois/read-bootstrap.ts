import * as z from 'zod'

const Bootstrap = z.object({
  services: z.array(z.tuple([z.array(z.string()), z.array(z.string())])),
})

/**
 * Address of the RDAP server for a domain, without a last slash: that of the longest matching suffix
 * (RFC 9224, 4), over TLS. Undefined where the registry names none.
 */
export const findRdapServer = (body: unknown, domain: string): string | undefined => {
  const { services } = Bootstrap.parse(body)
  const labels = domain.split('.')
  for (let at = 0; at < labels.length; at++) {
    const suffix = labels.slice(at).join('.')
    const [, urls = []] = services.find(([names]) => names.includes(suffix)) ?? []
    const url = urls.find(each => each.startsWith('https://'))
    if (url !== undefined) return url.replace(/\/+$/, '')
  }
  return undefined
}
