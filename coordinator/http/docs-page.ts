import type { OpenApiDocument } from './openapi.ts'
import type { OpenApiOperation } from './openapi-operation.ts'

/** The API document for people: one page of HTML, without a script. */
export const docsPage = ({ info, tags, paths }: OpenApiDocument): string => {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )
  const sections = tags.map(({ name }) => {
    const own = routes.filter(({ operation }) => operation.tags.includes(name))
    return `<h2 id="${html(name)}">${html(name)}</h2>\n${own.map(route).join('\n')}`
  })
  const index = tags.map(({ name }) => `<a href="#${html(name)}">${html(name)}</a>`)
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${html(info.title)} ${html(info.version)}</title>
<style>${STYLE}</style></head>
<body>
<h1>${html(info.title)} ${html(info.version)}</h1>
<p>${html(info.summary)}. For programs: <a href="/v1/openapi.json">openapi.json</a>,
<a href="/.well-known/agent.json">agent card</a>.</p>
<nav>${index.join(' ')}</nav>
${sections.join('\n')}
</body>
</html>
`
}

const STYLE =
  'body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'pre{overflow:auto;padding:.5rem;border:1px solid #8886}summary{cursor:pointer}' +
  'code{font-size:.95em}nav a{margin-right:.5rem}:root{color-scheme:light dark}'

interface Route {
  method: string
  path: string
  operation: OpenApiOperation
}

const route = ({ method, path, operation }: Route): string => {
  const { summary, parameters, requestBody, responses } = operation
  const access = operation['x-shoal-access']
  return `<details><summary><code>${html(method.toUpperCase())} ${html(path)}</code> ${html(summary)}</summary>
<p>Access: ${html(String(access))}.</p>
${parameters.length === 0 ? '' : block('Parameters', parameters)}${
  requestBody === undefined ? '' : block('Body', requestBody)
}${block('Answers', responses)}</details>`
}

const block = (title: string, value: object): string =>
  `<h3>${title}</h3><pre>${html(JSON.stringify(value, null, 2))}</pre>\n`

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const html = (text: string): string => text.replaceAll(/[&<>"]/g, found => ENTITIES[found] ?? found)
