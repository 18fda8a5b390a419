//! Finds places where code can be mutated: operators, conditions of match arms, statements to leave
//! out, and functions to replace by a constant.

use std::ops::Range;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ReturnType, Stmt, UnOp};

/// A place in a file, with its possible replacements.
#[derive(Clone, Debug)]
pub struct Place {
    /// The replaced bytes of the file.
    pub range: Range<usize>,
    pub line: usize,
    /// The function that contains the place.
    pub function: String,
    pub kind: Kind,
    /// The possible replacements.
    pub breaks: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    /// An operator between two operands.
    Between { left: Range<usize>, operator: String, right: Range<usize> },
    /// A `!` and its operand.
    Not { operand: Range<usize> },
    /// A condition, replaced by a constant.
    Condition,
    /// A statement that can be left out.
    Statement,
    /// The beginning of a function, where it can return a constant.
    Answer,
}

pub fn places(source: &str) -> Result<Vec<Place>, String> {
    let file = syn::parse_file(source).map_err(|error| error.to_string())?;
    let mut finder = Finder { places: Vec::new(), function: String::new() };
    finder.visit_file(&file);
    Ok(finder.places)
}

struct Finder {
    places: Vec<Place>,
    function: String,
}

impl Finder {
    fn add(&mut self, span: Span, kind: Kind, breaks: &[&str]) {
        self.places.push(Place {
            range: span.byte_range(),
            line: span.start().line,
            function: self.function.clone(),
            kind,
            breaks: breaks.iter().map(|it| (*it).to_owned()).collect(),
        });
    }

    fn function(
        &mut self,
        sig: &syn::Signature,
        block: &syn::Block,
        visit: impl FnOnce(&mut Finder),
    ) {
        // Constant functions can't be switched at run time.
        if sig.constness.is_some() {
            return;
        }
        let outer = std::mem::replace(&mut self.function, sig.ident.to_string());
        let answers = answers(&sig.output);
        if !answers.is_empty() && !block.stmts.is_empty() {
            let brace = block.brace_token.span.open();
            let start = brace.byte_range().end;
            self.add(brace, Kind::Answer, &answers);
            if let Some(place) = self.places.last_mut() {
                place.range = start..start;
            }
        }
        visit(self);
        self.function = outer;
    }
}

/// Constants that a function of this type can return.
fn answers(output: &ReturnType) -> Vec<&'static str> {
    let ReturnType::Type(_, kind) = output else { return vec!["()"] };
    let text = kind.to_token_stream().to_string().replace(' ', "");
    match text.as_str() {
        "bool" => vec!["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => vec!["0", "1"],
        "Option<u64>" | "Option<usize>" | "Option<u32>" => vec!["None", "Some(0)", "Some(1)"],
        text if text.starts_with("Option<") => vec!["None"],
        text if text.starts_with("Result<(),") => vec!["Ok(())"],
        text if text.starts_with("Vec<") => vec!["Vec::new()"],
        _ => Vec::new(),
    }
}

fn is_for_tests(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let text = attr.to_token_stream().to_string().replace(' ', "");
        text == "#[test]" || text.starts_with("#[cfg(test")
    })
}

/// Operators that can replace this operator.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) | BinOp::Div(_) => &["+"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::BitXor(_) | BinOp::BitOr(_) => &["&"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", "==", ">"],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "==", "<"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::BitOrAssign(_) | BinOp::BitXorAssign(_) => &["&="],
        BinOp::BitAndAssign(_) => &["|="],
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            self.function(&item.sig, &item.block, |it| visit::visit_item_fn(it, item));
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // Debug output is not tested, so its functions are not mutated.
        let shows = |path: &syn::Path| path.segments.last().is_some_and(|it| it.ident == "Debug");
        let is_shown = item.trait_.as_ref().is_some_and(|(_, path, _)| shows(path));
        if !is_for_tests(&item.attrs) && !is_shown {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.function(&item.sig, &item.block, |it| visit::visit_impl_item_fn(it, item));
        }
    }

    // Constants, patterns and types can't be switched at run time.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_expr_repeat(&mut self, item: &'ast syn::ExprRepeat) {
        self.visit_expr(&item.expr);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(expr, Some(_)) = stmt {
            if matches!(expr, Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_)) {
                self.add(stmt.span(), Kind::Statement, &["nothing"]);
            }
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        let breaks = others(&item.op);
        if !breaks.is_empty() {
            let [left, right] = [&item.left, &item.right].map(|it| it.span().byte_range());
            let operator = item.op.to_token_stream().to_string();
            self.add(item.span(), Kind::Between { left, operator, right }, breaks);
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast syn::ExprUnary) {
        if matches!(item.op, UnOp::Not(_)) {
            let operand = item.expr.span().byte_range();
            self.add(item.span(), Kind::Not { operand }, &["without !"]);
        }
        visit::visit_expr_unary(self, item);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.add(guard.span(), Kind::Condition, &["true", "false"]);
        }
        visit::visit_arm(self, arm);
    }
}
