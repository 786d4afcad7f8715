import { errorCodes, httpStatus, isForPrograms } from '../../../shared/errors.ts'
import type { DocumentedOperation } from './docs/documented-operation.ts'
import { code, html } from './docs/html.ts'
import { routeSection } from './docs/route-section.ts'
import { STYLE } from './docs/style.ts'
import type { OpenApiDocument } from './openapi.ts'

interface Route {
  method: string
  path: string
  operation: DocumentedOperation
}

/** The API document for people: one page of HTML that runs and loads nothing. */
export const docsPage = ({ info, tags, paths, servers }: OpenApiDocument): string => {
  const baseUrl = servers[0]?.url ?? ''
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]): Route => ({
        method,
        path,
        operation: operation as DocumentedOperation,
      }),
    ),
  )
  const groups = tags.map(({ name }) => ({
    name,
    own: routes.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const sections = groups.map(
    ({ name, own }) =>
      `<h2 id="group-${html(name)}">${html(name)}</h2>\n${own
        .map(({ method, path, operation }) => routeSection(baseUrl, method, path, operation))
        .join('\n')}`,
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${html(info.title)} ${html(info.version)}: the API</title>
<style>${STYLE}</style></head>
<body>
<nav><b>Start</b><a href="#start">How to ask</a><a href="#errors">Errors</a>
${groups.map(navigation).join('\n')}</nav>
<header id="start"><h1>${html(info.title)} ${html(info.version)}</h1>
<p>${html(info.summary)}.</p>
${describeUsage(baseUrl)}
${errorTable()}</header>
<main>
${sections.join('\n')}
</main>
</body>
</html>
`
}

const navigation = ({ name, own }: { name: string; own: Route[] }): string => {
  const links = own.map(({ method, path, operation }) => {
    const words = `${method.toUpperCase()} ${path}`
    const title = html(operation.summary)
    return `<a href="#${html(operation.operationId)}" title="${title}">${breakable(words)}</a>`
  })
  return `<b>${html(name)}</b>${links.join('\n')}`
}

/** Allows a path that is too long for its line to wrap after a slash. */
const breakable = (words: string): string => html(words).replaceAll('/', '/<wbr>')

const describeUsage = (
  baseUrl: string,
): string => `<p>The address is ${code(baseUrl)}. Send your key as
${code('Authorization: Bearer <key>')}, and a body as JSON with
${code('Content-Type: application/json')}. In the examples the key is in ${code('SHOAL_KEY')}, and
words in capitals are yours to fill in. Any OpenAI client works with ${code(`${baseUrl}/v1`)}.</p>
<p>For programs: <a href="/v1/openapi.json">this document as OpenAPI</a>,
<a href="/.well-known/agent.json">the agent card</a>.</p>`

const errorTable = (): string => {
  const lines = errorCodes
    .filter(each => !isForPrograms(each))
    .toSorted((a, b) => httpStatus(a) - httpStatus(b))
    .map(each => `<tr><td>${httpStatus(each)}</td><td>${code(each)}</td></tr>`)
  return `<h2 id="errors">Errors</h2>
<p>Every error is ${code('{"error":{"message","type","param","code"}}')} with all four keys; the
message says what is wrong, and ${code('param')} where; ${code('reason')} and ${code('next')}, where there are any, say why
and how to go on; under ${code('/api')} it is
${code('{"error": message}')}. After 429 and 503 wait the seconds in
${code('Retry-After')}.</p>
<details><summary>All codes</summary>
<table><tr><th>Status</th><th>Code</th></tr>
${lines.join('\n')}</table></details>`
}
