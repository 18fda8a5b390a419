// Rules that turn the pages of docs/, which are written for GitHub, into pages of the site.

import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { fileOf, pageOf } from '../pages.js'

/** A heading's anchor as GitHub makes it, so that links work in both places. */
export function slug(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')
}

/**
 * A link from one page to a file of the repository. A page of the site stays on the site; anything
 * else that exists is linked in the repository. What does not exist is left as it is, and VitePress
 * calls it a dead link.
 */
function target(href, page, { root, repository }) {
  if (/^([a-z]+:|#|\/\/)/i.test(href)) return href
  const [path, hash] = href.split('#')
  const file = posix.join(posix.dirname(fileOf(page, root)), path)
  const found = pageOf(file)
  const anchor = hash ? `#${hash}` : ''
  if (!existsSync(posix.join(root, file))) return href
  if (found?.endsWith('.md')) return `/${found}${anchor}`
  if (found && /\.(svg|png)$/.test(found)) return `${posix.relative(posix.dirname(page), found)}`
  return `${repository}/blob/main/${file}${anchor}`
}

const LANGUAGES = { php: 'PHP', python: 'Python', js: 'Node', go: 'Go', java: 'Java', rust: 'Rust' }

/** Blocks of code in different languages, one right after the other, become tabs. */
function tabs(tokens) {
  for (let from = 0; from < tokens.length; from++) {
    let to = from
    const seen = new Set()
    const isNext = () => tokens[to]?.type === 'fence' && LANGUAGES[tokens[to].info] && !seen.has(tokens[to].info)
    while (isNext()) seen.add(tokens[to++].info)
    if (seen.size < 2) continue
    const labels = [...seen].map((language, index) => {
      const id = `tab-${from}-${index}`
      const checked = index === 0 ? 'checked' : ''
      return `<input type="radio" name="group-${from}" id="${id}" ${checked}>` +
        `<label for="${id}">${LANGUAGES[language]}</label>`
    })
    tokens[from].info += ' active'
    const html = (content) => Object.assign(new tokens[from].constructor('html_block', '', 0), { content })
    tokens.splice(to, 0, html('</div></div>\n'))
    const head = `<div class="vp-code-group"><div class="tabs">${labels.join('')}</div><div class="blocks">\n`
    tokens.splice(from, 0, html(head))
    from = to + 1
  }
}

export function forGitHub(settings) {
  return (md) => {
    md.core.ruler.push('seckill', ({ tokens, env }) => {
      const page = env.relativePath
      for (const token of tokens.flatMap((token) => [token, ...(token.children ?? [])])) {
        for (const name of ['href', 'src']) {
          const value = token.attrGet?.(name)
          if (value) token.attrSet(name, target(value, page, settings))
        }
      }
      // No highlighter knows redis-cli's lines, though GitHub takes the name.
      for (const token of tokens) if (token.info === 'redis') token.info = 'txt'
      tabs(tokens)
    })
  }
}
