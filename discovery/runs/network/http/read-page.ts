import type { HttpAnswer } from '../../../net/http-probe.ts'

/** What a page says about itself. */
export interface Page {
  title: string | null
  generator: string | null
  /** Reference of `<link rel="icon">`, as it is written. */
  icon: string | null
  text: string
}

const MAX_TEXT = 256

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

export const readPage = ({ headers, body }: HttpAnswer): Page => {
  const isText = /text|html|json|xml|^$/.test(headers['content-type'] ?? '')
  const text = isText ? body.toString('utf8') : ''
  const generator = findTag(text, 'meta', /\bname\s*=\s*["']?generator\b/i)
  const icon = findTag(text, 'link', /\brel\s*=\s*["']?(?:shortcut )?icon\b/i)
  return {
    title: cleanText(/<title\b[^>]{0,200}>([^<]{0,1000})/i.exec(text)?.[1]),
    generator: cleanText(readAttribute(generator, 'content')),
    icon: readAttribute(icon, 'href') ?? null,
    text,
  }
}

/** First tag of a kind whose attributes fit. */
const findTag = (text: string, name: string, attributes: RegExp): string | undefined => {
  for (const [tag] of text.matchAll(new RegExp(`<${name}\\b[^>]{0,1000}>`, 'gi')))
    if (attributes.test(tag)) return tag
  return undefined
}

const readAttribute = (tag: string | undefined, name: string): string | undefined =>
  new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, 'i')
    .exec(tag ?? '')
    ?.slice(1)
    .find(value => value !== undefined)

const cleanText = (text: string | undefined): string | null =>
  text
    ?.replaceAll(/&(?:#(\d{1,6})|(\w{1,6}));/g, (all, code, name) =>
      code === undefined
        ? (ENTITIES[name] ?? all)
        : String.fromCodePoint(Math.min(Number(code), 0xffff)),
    )
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_TEXT) || null
