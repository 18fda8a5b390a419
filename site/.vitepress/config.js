import { readdirSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { forGitHub, slug } from './markdown.js'
import { sidebar, unlisted } from './navigation.js'

const root = process.env.SECKILL_ROOT
// Where the files are that are no pages; a workflow of GitHub knows its own repository.
const repository = process.env.SECKILL_REPOSITORY ?? 'https://github.com/seckill/seckill'
const pages = new Set(
  readdirSync('pages').filter((name) => name.endsWith('.md')).map((name) => name.slice(0, -'.md'.length))
)
const lost = unlisted(pages)
if (lost.length > 0) throw new Error(`.vitepress/navigation.js does not list ${lost}`)

const ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#c33"/>' +
  '<text x="8" y="12" font-size="12" text-anchor="middle" fill="#fff">1</text></svg>'

/** Words as people read them, in the index and in the browser: Chinese has no blanks between them. */
function words(text) {
  const cut = (globalThis.seckillCut ??= new Intl.Segmenter('zh', { granularity: 'word' }))
  return [...cut.segment(text)].filter((part) => part.isWordLike).map((part) => part.segment.toLowerCase())
}

export default defineConfig({
  title: 'seckill',
  description: 'A Redis and Valkey module that sells exactly what there is',
  // Browsers ask for one; a drawing of two lines needs no file.
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  base: process.env.SECKILL_BASE ?? '/',
  srcDir: 'pages',
  outDir: 'dist',
  markdown: { anchor: { slugify: slug }, config: forGitHub({ root, repository }) },
  themeConfig: {
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: { tokenize: words },
          searchOptions: { combineWith: 'AND', fuzzy: false, prefix: true, boost: { title: 4, text: 2, titles: 1 } }
        },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                noResultsText: '没有找到',
                resetButtonTitle: '清除',
                footer: { selectText: '打开', navigateText: '上下移动', closeText: '关闭' }
              }
            }
          }
        }
      }
    }
  },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: sidebar('en', pages) } },
    zh: {
      label: '中文',
      lang: 'zh-CN',
      description: 'Redis 秒杀模块：一条命令，不超卖、不少卖',
      themeConfig: {
        sidebar: sidebar('zh', pages),
        outline: { level: [2, 3], label: '本页' },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '深色',
        sidebarMenuLabel: '目录',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '语言'
      }
    }
  }
})
